/** The table of the binaries that demo and tests use. */
import { fileURLToPath } from "node:url";
import type { DownloadSource } from "./download-sources.ts";
import {
  actionlintRelease,
  alertmanagerRelease,
  cosignRelease,
  craneRelease,
  envtestArchive,
  etcdRelease,
  helmRelease,
  kubernetesRelease,
  prometheusRelease,
} from "./download-sources.ts";

/** A binary that demo and tests can ask for. */
export type AssetName =
  | "kube-apiserver"
  | "etcd"
  | "kubectl"
  | "kube-controller-manager"
  | "kube-scheduler"
  | "kubelet"
  | "helm"
  | "cosign"
  | "crane"
  | "registry"
  | "actionlint"
  | "admission-webhook"
  | "prometheus"
  | "promtool"
  | "alertmanager";

/** A binary of which any recent version is good enough, so one of the system's packages can be used. */
export interface SystemPackage {
  /** The names of its commands on the PATH. */
  readonly commands: readonly string[];
  /** The command that installs the package. */
  readonly install: string;
}

/** How to build a binary from Go modules. go.mod and go.sum in `moduleDirectory` pin all source code. */
export interface GoBuild {
  readonly moduleDirectory: string;
  readonly packagePath: string;
  /** The value of `-ldflags`. */
  readonly linkerFlags: string;
  /** The value of `-tags`. @default none */
  readonly tags?: string;
  /** The approximate time of the build on two cores without a cache, for the progress line. */
  readonly roughly: string;
}

/** One row of the table: one binary. */
export interface Asset {
  readonly name: AssetName;
  /** The exact version, with its leading v. It is a part of the path in the cache. */
  readonly version: string;
  /** The system package that may be used instead. Absent: it must be exactly our version. */
  readonly systemPackage?: SystemPackage;
  /** The official downloads, tried in order. Each returns `undefined` if it has nothing for a platform. */
  readonly downloads: readonly DownloadSource[];
  readonly build: GoBuild;
}

const kubernetesVersion = "v1.35.4";
const etcdVersion = "v3.6.16";
/** Prometheus 3.x is the Go module v0.3xx. */
const prometheusVersion = "v3.13.5";
/**
 * The newest version whose Go module can be built without changes. The modules of later versions lack the files of
 * their web page.
 */
const alertmanagerVersion = "v0.30.0";
const helmVersion = "v3.22.0";
const cosignVersion = "v3.1.3";
const craneVersion = "v0.22.1";
const registryVersion = "v3.1.2";
const actionlintVersion = "v1.7.12";
const prometheusOperatorVersion = "v0.85.0";

/** The oldest Go that builds all binaries: the highest `go` line of the modules under `go/`. */
export const requiredGoVersion = "1.26.0";

const moduleDirectory = (name: string) => fileURLToPath(new URL(`./go/${name}/`, import.meta.url));

function kubernetesBuild(command: string, roughly: string): GoBuild {
  const versionPackage = "k8s.io/component-base/version";
  const [major, minor] = kubernetesVersion.slice(1).split(".");
  return {
    moduleDirectory: moduleDirectory("kubernetes"),
    packagePath: `k8s.io/kubernetes/cmd/${command}`,
    linkerFlags: [
      "-s -w",
      `-X ${versionPackage}.gitVersion=${kubernetesVersion}`,
      `-X ${versionPackage}.gitMajor=${major}`,
      `-X ${versionPackage}.gitMinor=${minor}`,
    ].join(" "),
    roughly,
  };
}

/** Returns flags with the version of Kubernetes that `helm template` assumes. Without them Helm would assume 1.20. */
function helmFlags(): string {
  const [major, minor] = kubernetesVersion.slice(1).split(".");
  const modulePath = "helm.sh/helm/v3";
  return [
    "-s -w",
    `-X ${modulePath}/internal/version.version=${helmVersion}`,
    `-X ${modulePath}/pkg/chartutil.k8sVersionMajor=${major}`,
    `-X ${modulePath}/pkg/chartutil.k8sVersionMinor=${minor}`,
  ].join(" ");
}

function prometheusBuild(command: string, roughly: string): GoBuild {
  return {
    moduleDirectory: moduleDirectory("prometheus"),
    packagePath: `github.com/prometheus/prometheus/cmd/${command}`,
    linkerFlags: `-s -w -X github.com/prometheus/common/version.Version=${prometheusVersion.slice(1)}`,
    // Leaves out the clients of many clouds, because here the targets are given by address.
    tags: "remove_all_sd",
    roughly,
  };
}

/** Every binary, by name. A new binary needs a row here, and a module under `go/` if it is built. */
export const assetTable: Readonly<Record<AssetName, Asset>> = {
  etcd: {
    name: "etcd",
    version: etcdVersion,
    downloads: [etcdRelease],
    build: {
      moduleDirectory: moduleDirectory("etcd"),
      packagePath: "go.etcd.io/etcd/server/v3",
      linkerFlags: "-s -w",
      roughly: "half a minute",
    },
  },
  "kube-apiserver": {
    name: "kube-apiserver",
    version: kubernetesVersion,
    downloads: [kubernetesRelease, envtestArchive],
    build: kubernetesBuild("kube-apiserver", "three minutes"),
  },
  kubectl: {
    name: "kubectl",
    version: kubernetesVersion,
    downloads: [kubernetesRelease, envtestArchive],
    build: kubernetesBuild("kubectl", "half a minute after kube-apiserver"),
  },
  "kube-controller-manager": {
    name: "kube-controller-manager",
    version: kubernetesVersion,
    downloads: [kubernetesRelease],
    build: kubernetesBuild("kube-controller-manager", "a minute after kube-apiserver"),
  },
  "kube-scheduler": {
    name: "kube-scheduler",
    version: kubernetesVersion,
    downloads: [kubernetesRelease],
    build: kubernetesBuild("kube-scheduler", "a minute after kube-apiserver"),
  },
  kubelet: {
    name: "kubelet",
    version: kubernetesVersion,
    downloads: [kubernetesRelease],
    build: kubernetesBuild("kubelet", "two minutes after kube-apiserver"),
  },
  helm: {
    name: "helm",
    version: helmVersion,
    downloads: [helmRelease],
    build: {
      moduleDirectory: moduleDirectory("helm"),
      packagePath: "helm.sh/helm/v3/cmd/helm",
      linkerFlags: helmFlags(),
      roughly: "a minute and a half",
    },
  },
  cosign: {
    name: "cosign",
    version: cosignVersion,
    downloads: [cosignRelease],
    build: {
      moduleDirectory: moduleDirectory("cosign"),
      packagePath: "github.com/sigstore/cosign/v3/cmd/cosign",
      linkerFlags: `-s -w -X sigs.k8s.io/release-utils/version.gitVersion=${cosignVersion}`,
      roughly: "three minutes",
    },
  },
  // Pushes the files of a release byte by byte.
  crane: {
    name: "crane",
    version: craneVersion,
    downloads: [craneRelease],
    build: {
      moduleDirectory: moduleDirectory("crane"),
      packagePath: "github.com/google/go-containerregistry/cmd/crane",
      linkerFlags: `-s -w -X github.com/google/go-containerregistry/cmd/crane/cmd.Version=${craneVersion}`,
      roughly: "twenty seconds",
    },
  },
  // The registry that tests publish to, on loopback.
  registry: {
    name: "registry",
    version: registryVersion,
    downloads: [],
    build: {
      moduleDirectory: moduleDirectory("registry"),
      packagePath: "github.com/distribution/distribution/v3/cmd/registry",
      linkerFlags: `-s -w -X github.com/distribution/distribution/v3/version.version=${registryVersion}`,
      roughly: "a minute",
    },
  },
  actionlint: {
    name: "actionlint",
    version: actionlintVersion,
    downloads: [actionlintRelease],
    build: {
      moduleDirectory: moduleDirectory("actionlint"),
      packagePath: "github.com/rhysd/actionlint/cmd/actionlint",
      linkerFlags: "-s -w",
      roughly: "twenty seconds",
    },
  },
  // A program of the Prometheus operator. It refuses rules that Prometheus would not load.
  "admission-webhook": {
    name: "admission-webhook",
    version: prometheusOperatorVersion,
    downloads: [],
    build: {
      moduleDirectory: moduleDirectory("prometheus-operator"),
      packagePath: "github.com/prometheus-operator/prometheus-operator/cmd/admission-webhook",
      linkerFlags: "-s -w",
      roughly: "two minutes",
    },
  },
  prometheus: {
    name: "prometheus",
    version: prometheusVersion,
    systemPackage: { commands: ["prometheus"], install: "apt-get install prometheus" },
    downloads: [prometheusRelease],
    build: prometheusBuild("prometheus", "three minutes"),
  },
  promtool: {
    name: "promtool",
    version: prometheusVersion,
    systemPackage: { commands: ["promtool"], install: "apt-get install prometheus" },
    downloads: [prometheusRelease],
    build: prometheusBuild("promtool", "a minute after prometheus"),
  },
  alertmanager: {
    name: "alertmanager",
    version: alertmanagerVersion,
    systemPackage: {
      commands: ["alertmanager", "prometheus-alertmanager"],
      install: "apt-get install prometheus-alertmanager",
    },
    downloads: [alertmanagerRelease],
    build: {
      moduleDirectory: moduleDirectory("alertmanager"),
      packagePath: "github.com/prometheus/alertmanager/cmd/alertmanager",
      linkerFlags: `-s -w -X github.com/prometheus/common/version.Version=${alertmanagerVersion.slice(1)}`,
      roughly: "a minute",
    },
  },
};

/** The binaries that an API server and its users need. */
export const apiServerAssets: readonly AssetName[] = ["etcd", "kube-apiserver", "kubectl"];

/** The binaries for metrics and alerts. */
export const monitoringAssets: readonly ["prometheus", "alertmanager"] = ["prometheus", "alertmanager"];

/** All names, in the order in which they should be built. */
export const assetNames = Object.keys(assetTable) as readonly AssetName[];
