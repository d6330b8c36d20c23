/** The table of the binaries that demo and tests use. */
import { AssetError } from "./asset-error.ts";

/** Operating system and processor, with the names that Go and the download hosts use. */
export interface Platform {
  readonly os: "linux" | "darwin";
  readonly arch: "amd64" | "arm64";
}

/** Returns the platform of this process. @throws AssetError on a platform without binaries (Windows: use WSL) */
export function currentPlatform(): Platform {
  const os = process.platform;
  const arch = { x64: "amd64", arm64: "arm64" }[process.arch as string];
  if ((os === "linux" || os === "darwin") && (arch === "amd64" || arch === "arm64")) return { os, arch };
  throw new AssetError(`There are no binaries for ${os} on ${process.arch}. Use Linux, macOS or WSL, on x64 or arm64.`);
}

/** A binary of which any recent version is good enough, so one of the system's packages can be used. */
export interface SystemPackage {
  /** The names of its commands on the PATH. */
  readonly commands: readonly string[];
  /** The command that installs the package. */
  readonly install: string;
}

/**
 * A file of a release. In its texts, `{v}` is the version, `{n}` the version without its v, `{os}` and `{arch}` the
 * platform, `{zip}` the usual kind of archive there, `{System}` and `{machine}` the platform as `uname` names it.
 */
export interface Download {
  readonly url: string;
  /** The text with the checksum: an address, or the name of a file beside the binary. */
  readonly sums: string;
  /** The path of the binary inside the archive. Absent: the file is the binary itself. */
  readonly member?: string;
  /** The only operating system for which there is such a file. Absent: all. */
  readonly os?: Platform["os"];
}

/** How to build a binary from Go modules. go.mod and go.sum in `go/MODULE` pin all source code. */
export interface GoBuild {
  readonly module: string;
  readonly packagePath: string;
  /** The Go variables that the linker sets, with their values. */
  readonly variables?: Readonly<Record<string, string>>;
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
  /** The official downloads, tried in order. */
  readonly downloads: readonly Download[];
  readonly build: GoBuild;
}

/** The oldest Go that builds all binaries: the highest `go` line of the modules under `go/`. */
export const requiredGoVersion = "1.26.0";

/** A row of the table without its name. */
type Row = Omit<Asset, "name">;

const gitHub = (repository: string) => `https://github.com/${repository}/releases/download`;

const kubernetesVersion = "v1.35.4";
const [kubernetesMajor = "", kubernetesMinor = ""] = kubernetesVersion.slice(1).split(".");

/** The envtest archives hold the only published kube-apiserver for macOS. They do not exist for every patch version. */
const envtest: Download = {
  url: `${gitHub("kubernetes-sigs/controller-tools")}/envtest-{v}/envtest-{v}-{os}-{arch}.tar.gz`,
  sums: "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/main/envtest-releases.yaml",
};

function kubernetes(command: string, roughly: string, ...more: readonly Download[]): Row {
  const versionPackage = "k8s.io/component-base/version";
  const variables = {
    [`${versionPackage}.gitVersion`]: kubernetesVersion,
    [`${versionPackage}.gitMajor`]: kubernetesMajor,
    [`${versionPackage}.gitMinor`]: kubernetesMinor,
  };
  const url = `https://dl.k8s.io/release/{v}/bin/{os}/{arch}/${command}`;
  const release: Download = { url, sums: `${url}.sha512`, ...(command === "kubectl" ? {} : { os: "linux" }) };
  return {
    version: kubernetesVersion,
    downloads: [release, ...more.map((archive) => ({ ...archive, member: `controller-tools/envtest/${command}` }))],
    build: { module: "kubernetes", packagePath: `k8s.io/kubernetes/cmd/${command}`, variables, roughly },
  };
}

/** Returns the row of a program of the Prometheus projects. One archive holds all programs of a project. */
function prometheus(version: string, place: `${"prometheus" | "alertmanager"}/${string}`, roughly: string) {
  const [project = "", command = ""] = place.split("/");
  const stem = `${project}-{n}.{os}-{arch}`;
  const url = `${gitHub(`prometheus/${project}`)}/{v}/${stem}.tar.gz`;
  return {
    version,
    downloads: [{ url, sums: "sha256sums.txt", member: `${stem}/${command}` }],
    build: {
      module: project,
      packagePath: `github.com/prometheus/${project}/cmd/${command}`,
      variables: { "github.com/prometheus/common/version.Version": version.slice(1) },
      // The tag leaves out the clients of many clouds, because here the targets are given by address.
      tags: "remove_all_sd",
      roughly,
    },
  };
}

/** Prometheus 3.x is the Go module v0.3xx. */
const prometheusVersion = "v3.13.5";

const rows = {
  etcd: {
    version: "v3.6.16",
    downloads: [
      {
        url: `${gitHub("etcd-io/etcd")}/{v}/etcd-{v}-{os}-{arch}.{zip}`,
        sums: "SHA256SUMS",
        member: "etcd-{v}-{os}-{arch}/etcd",
      },
    ],
    build: { module: "etcd", packagePath: "go.etcd.io/etcd/server/v3", roughly: "half a minute" },
  },
  "kube-apiserver": kubernetes("kube-apiserver", "three minutes", envtest),
  kubectl: kubernetes("kubectl", "half a minute after kube-apiserver", envtest),
  "kube-controller-manager": kubernetes("kube-controller-manager", "a minute after kube-apiserver"),
  "kube-scheduler": kubernetes("kube-scheduler", "a minute after kube-apiserver"),
  kubelet: kubernetes("kubelet", "two minutes after kube-apiserver"),
  helm: {
    version: "v3.22.0",
    downloads: [
      {
        url: "https://get.helm.sh/helm-{v}-{os}-{arch}.tar.gz",
        sums: "helm-{v}-{os}-{arch}.tar.gz.sha256sum",
        member: "{os}-{arch}/helm",
      },
    ],
    build: {
      module: "helm",
      packagePath: "helm.sh/helm/v3/cmd/helm",
      variables: {
        "helm.sh/helm/v3/internal/version.version": "v3.22.0",
        // The version of Kubernetes that `helm template` assumes. Without these Helm would assume 1.20.
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": kubernetesMajor,
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": kubernetesMinor,
      },
      roughly: "a minute and a half",
    },
  },
  cosign: {
    version: "v3.1.3",
    downloads: [{ url: `${gitHub("sigstore/cosign")}/{v}/cosign-{os}-{arch}`, sums: "cosign_checksums.txt" }],
    build: {
      module: "cosign",
      packagePath: "github.com/sigstore/cosign/v3/cmd/cosign",
      variables: { "sigs.k8s.io/release-utils/version.gitVersion": "v3.1.3" },
      roughly: "three minutes",
    },
  },
  // Pushes the files of a release byte by byte.
  crane: {
    version: "v0.22.1",
    downloads: [
      {
        url: `${gitHub("google/go-containerregistry")}/{v}/go-containerregistry_{System}_{machine}.tar.gz`,
        sums: "checksums.txt",
        member: "crane",
      },
    ],
    build: {
      module: "crane",
      packagePath: "github.com/google/go-containerregistry/cmd/crane",
      variables: { "github.com/google/go-containerregistry/cmd/crane/cmd.Version": "v0.22.1" },
      roughly: "twenty seconds",
    },
  },
  // The registry that tests publish to, on loopback.
  registry: {
    version: "v3.1.2",
    downloads: [],
    build: {
      module: "registry",
      packagePath: "github.com/distribution/distribution/v3/cmd/registry",
      variables: { "github.com/distribution/distribution/v3/version.version": "v3.1.2" },
      roughly: "a minute",
    },
  },
  actionlint: {
    version: "v1.7.12",
    downloads: [
      {
        url: `${gitHub("rhysd/actionlint")}/{v}/actionlint_{n}_{os}_{arch}.tar.gz`,
        sums: "actionlint_{n}_checksums.txt",
        member: "actionlint",
      },
    ],
    build: { module: "actionlint", packagePath: "github.com/rhysd/actionlint/cmd/actionlint", roughly: "20 seconds" },
  },
  "kube-score": {
    version: "v1.20.0",
    downloads: [{ url: `${gitHub("zegl/kube-score")}/{v}/kube-score_{n}_{os}_{arch}`, sums: "checksums.txt" }],
    build: { module: "kube-score", packagePath: "github.com/zegl/kube-score/cmd/kube-score", roughly: "a minute" },
  },
  prometheus: {
    ...prometheus(prometheusVersion, "prometheus/prometheus", "three minutes"),
    systemPackage: { commands: ["prometheus"], install: "apt-get install prometheus" },
  },
  promtool: {
    ...prometheus(prometheusVersion, "prometheus/promtool", "a minute after prometheus"),
    systemPackage: { commands: ["promtool"], install: "apt-get install prometheus" },
  },
  alertmanager: {
    // The newest version whose Go module can be built without changes. Later modules lack the files of their web page.
    ...prometheus("v0.30.0", "alertmanager/alertmanager", "a minute"),
    systemPackage: {
      commands: ["alertmanager", "prometheus-alertmanager"],
      install: "apt-get install prometheus-alertmanager",
    },
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
