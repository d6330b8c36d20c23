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

/** The oldest Go that builds all binaries: the highest `go` line of the modules under `go/`. */
export const requiredGoVersion = "1.26.0";

/** A row of the table without its name. */
type Row = Omit<Asset, "name">;

/**
 * Returns the build of a package from the modules that `go/MODULE` pins.
 * @param variables the Go variables that the linker sets, with their values
 */
function goBuild(
  module: string,
  packagePath: string,
  roughly: string,
  variables: Readonly<Record<string, string | undefined>> = {},
): GoBuild {
  const settings = Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`);
  const moduleDirectory = fileURLToPath(new URL(`./go/${module}/`, import.meta.url));
  return { moduleDirectory, packagePath, linkerFlags: ["-s -w", ...settings].join(" "), roughly };
}

const kubernetesVersion = "v1.35.4";
const [kubernetesMajor, kubernetesMinor] = kubernetesVersion.slice(1).split(".");

function kubernetes(command: string, roughly: string, ...otherDownloads: readonly DownloadSource[]): Row {
  const versionPackage = "k8s.io/component-base/version";
  return {
    version: kubernetesVersion,
    downloads: [kubernetesRelease, ...otherDownloads],
    build: goBuild("kubernetes", `k8s.io/kubernetes/cmd/${command}`, roughly, {
      [`${versionPackage}.gitVersion`]: kubernetesVersion,
      [`${versionPackage}.gitMajor`]: kubernetesMajor,
      [`${versionPackage}.gitMinor`]: kubernetesMinor,
    }),
  };
}

function prometheus(command: string, roughly: string): Row {
  // Prometheus 3.x is the Go module v0.3xx.
  const version = "v3.13.5";
  const variables = { "github.com/prometheus/common/version.Version": version.slice(1) };
  const build = goBuild("prometheus", `github.com/prometheus/prometheus/cmd/${command}`, roughly, variables);
  return {
    version,
    systemPackage: { commands: [command], install: "apt-get install prometheus" },
    downloads: [prometheusRelease],
    // The tag leaves out the clients of many clouds, because here the targets are given by address.
    build: { ...build, tags: "remove_all_sd" },
  };
}

const helmVersion = "v3.22.0";
const cosignVersion = "v3.1.3";
const craneVersion = "v0.22.1";
const registryVersion = "v3.1.2";
/**
 * The newest version whose Go module can be built without changes. The modules of later versions lack the files of
 * their web page.
 */
const alertmanagerVersion = "v0.30.0";

const rows = {
  etcd: {
    version: "v3.6.16",
    downloads: [etcdRelease],
    build: goBuild("etcd", "go.etcd.io/etcd/server/v3", "half a minute"),
  },
  "kube-apiserver": kubernetes("kube-apiserver", "three minutes", envtestArchive),
  kubectl: kubernetes("kubectl", "half a minute after kube-apiserver", envtestArchive),
  "kube-controller-manager": kubernetes("kube-controller-manager", "a minute after kube-apiserver"),
  "kube-scheduler": kubernetes("kube-scheduler", "a minute after kube-apiserver"),
  kubelet: kubernetes("kubelet", "two minutes after kube-apiserver"),
  helm: {
    version: helmVersion,
    downloads: [helmRelease],
    build: goBuild("helm", "helm.sh/helm/v3/cmd/helm", "a minute and a half", {
      "helm.sh/helm/v3/internal/version.version": helmVersion,
      // The version of Kubernetes that `helm template` assumes. Without these Helm would assume 1.20.
      "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": kubernetesMajor,
      "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": kubernetesMinor,
    }),
  },
  cosign: {
    version: cosignVersion,
    downloads: [cosignRelease],
    build: goBuild("cosign", "github.com/sigstore/cosign/v3/cmd/cosign", "three minutes", {
      "sigs.k8s.io/release-utils/version.gitVersion": cosignVersion,
    }),
  },
  // Pushes the files of a release byte by byte.
  crane: {
    version: craneVersion,
    downloads: [craneRelease],
    build: goBuild("crane", "github.com/google/go-containerregistry/cmd/crane", "twenty seconds", {
      "github.com/google/go-containerregistry/cmd/crane/cmd.Version": craneVersion,
    }),
  },
  // The registry that tests publish to, on loopback.
  registry: {
    version: registryVersion,
    downloads: [],
    build: goBuild("registry", "github.com/distribution/distribution/v3/cmd/registry", "a minute", {
      "github.com/distribution/distribution/v3/version.version": registryVersion,
    }),
  },
  actionlint: {
    version: "v1.7.12",
    downloads: [actionlintRelease],
    build: goBuild("actionlint", "github.com/rhysd/actionlint/cmd/actionlint", "twenty seconds"),
  },
  // A program of the Prometheus operator. It refuses rules that Prometheus would not load.
  "admission-webhook": {
    version: "v0.85.0",
    downloads: [],
    build: goBuild(
      "prometheus-operator",
      "github.com/prometheus-operator/prometheus-operator/cmd/admission-webhook",
      "two minutes",
    ),
  },
  prometheus: prometheus("prometheus", "three minutes"),
  promtool: prometheus("promtool", "a minute after prometheus"),
  alertmanager: {
    version: alertmanagerVersion,
    systemPackage: {
      commands: ["alertmanager", "prometheus-alertmanager"],
      install: "apt-get install prometheus-alertmanager",
    },
    downloads: [alertmanagerRelease],
    build: goBuild("alertmanager", "github.com/prometheus/alertmanager/cmd/alertmanager", "a minute", {
      "github.com/prometheus/common/version.Version": alertmanagerVersion.slice(1),
    }),
  },
} satisfies Readonly<Record<string, Row>>;

/** A binary that demo and tests can ask for. */
export type AssetName = keyof typeof rows;

/** All names, in the order in which they should be built. */
export const assetNames = Object.keys(rows) as readonly AssetName[];

/** Every binary, by name. A new binary needs a row above, and a module under `go/` if it is built. */
export const assetTable = Object.fromEntries(
  Object.entries(rows).map(([name, row]) => [name, { name, ...row }]),
) as Readonly<Record<AssetName, Asset>>;

/** The binaries that an API server and its users need. */
export const apiServerAssets: readonly AssetName[] = ["etcd", "kube-apiserver", "kubectl"];

/** The binaries for metrics and alerts. */
export const monitoringAssets: readonly ["prometheus", "alertmanager"] = ["prometheus", "alertmanager"];
