/** Knows where each project publishes its binaries and their checksums. */
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import type { Platform } from "./platform.ts";

/** The base addresses of the official downloads, without a trailing slash. Tests use a loopback server instead. */
export interface DownloadHosts {
  /** Kubernetes releases: `<base>/v1.2.3/bin/linux/amd64/kubectl` and the same with `.sha512`. */
  readonly kubernetes: string;
  /** etcd releases: `<base>/v1.2.3/etcd-v1.2.3-linux-amd64.tar.gz` beside `SHA256SUMS`. */
  readonly etcd: string;
  /** Prometheus releases: `<base>/v1.2.3/prometheus-1.2.3.linux-amd64.tar.gz` beside `sha256sums.txt`. */
  readonly prometheus: string;
  /** Alertmanager releases, with names like those of Prometheus. */
  readonly alertmanager: string;
  /** Helm releases: `<base>/helm-v1.2.3-linux-amd64.tar.gz` and the same with `.sha256sum`. */
  readonly helm: string;
  /** cosign releases: `<base>/v1.2.3/cosign-linux-amd64` beside `cosign_checksums.txt`. */
  readonly cosign: string;
  /** Releases of go-containerregistry, with crane: `<base>/v1.2.3/go-containerregistry_Linux_x86_64.tar.gz` beside `checksums.txt`. */
  readonly crane: string;
  /** actionlint releases: `<base>/v1.2.3/actionlint_1.2.3_linux_amd64.tar.gz` beside a list of checksums. */
  readonly actionlint: string;
  /** The index of the envtest archives: YAML with an address and a SHA-512 for each. */
  readonly envtestIndex: string;
}

/** The addresses at which the projects themselves publish. */
export const officialHosts: DownloadHosts = {
  kubernetes: "https://dl.k8s.io/release",
  etcd: "https://github.com/etcd-io/etcd/releases/download",
  prometheus: "https://github.com/prometheus/prometheus/releases/download",
  alertmanager: "https://github.com/prometheus/alertmanager/releases/download",
  helm: "https://get.helm.sh",
  cosign: "https://github.com/sigstore/cosign/releases/download",
  crane: "https://github.com/google/go-containerregistry/releases/download",
  actionlint: "https://github.com/rhysd/actionlint/releases/download",
  envtestIndex: "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/main/envtest-releases.yaml",
};

/** The file to download, and the digest that it must have. */
export interface DownloadLocation {
  readonly url: string;
  readonly algorithm: "sha256" | "sha512";
  /** The digest in lower-case hexadecimal. */
  readonly digest: string;
  /** The path of the binary inside the archive. Absent: the file is the binary itself. */
  readonly member?: string;
}

/** The question to a source: which binary, for which platform. */
export interface DownloadQuery {
  readonly name: string;
  readonly version: string;
  readonly platform: Platform;
  readonly hosts: DownloadHosts;
  /** Downloads a small text. @throws Error when it is not available */
  readonly fetchText: (url: string) => Promise<string>;
}

/** Finds one binary of one publisher; `undefined`: there is none for this platform or version. */
export type DownloadSource = (query: DownloadQuery) => Promise<DownloadLocation | undefined>;

/** The release host of Kubernetes, with bare binaries. Servers exist for Linux only, kubectl for macOS too. */
export const kubernetesRelease: DownloadSource = async ({ name, version, platform, hosts, fetchText }) => {
  if (platform.os !== "linux" && name !== "kubectl") return undefined;
  const url = `${hosts.kubernetes}/${version}/bin/${platform.os}/${platform.arch}/${name}`;
  const digest = parseDigest(await fetchText(`${url}.sha512`), undefined, 128);
  if (digest === undefined) throw new Error(`no SHA-512 in ${url}.sha512`);
  return { url, algorithm: "sha512", digest };
};

/** A file of a release, and the list of SHA-256 checksums that is published beside it. */
interface ListedFile {
  /** The address of the folder, without a trailing slash. */
  readonly folder: string;
  readonly file: string;
  readonly list: string;
  readonly member?: string;
}

/** Makes the source of a publisher with lists of checksums. A file that is not in the list does not exist. */
function listedRelease(locate: (query: DownloadQuery) => ListedFile): DownloadSource {
  return async (query) => {
    const { folder, file, list, ...inside } = locate(query);
    const digest = parseDigest(await query.fetchText(`${folder}/${list}`), file, 64);
    return digest === undefined ? undefined : { url: `${folder}/${file}`, algorithm: "sha256", digest, ...inside };
  };
}

/** The release archives of etcd: tar.gz for Linux, zip for macOS, whose tar reads zip. */
export const etcdRelease: DownloadSource = listedRelease(({ version, platform, hosts }) => {
  const stem = `etcd-${version}-${platform.os}-${platform.arch}`;
  const file = `${stem}.${platform.os === "darwin" ? "zip" : "tar.gz"}`;
  return { folder: `${hosts.etcd}/${version}`, file, list: "SHA256SUMS", member: `${stem}/etcd` };
});

/**
 * The release archives of the Prometheus projects: tar.gz for every platform. One archive holds all programs of a
 * project.
 */
function prometheusStyleRelease(project: "prometheus" | "alertmanager"): DownloadSource {
  return listedRelease(({ name, version, platform, hosts }) => {
    const stem = `${project}-${version.slice(1)}.${platform.os}-${platform.arch}`;
    const folder = `${hosts[project]}/${version}`;
    return { folder, file: `${stem}.tar.gz`, list: "sha256sums.txt", member: `${stem}/${name}` };
  });
}

/** The releases of Prometheus and promtool. */
export const prometheusRelease: DownloadSource = prometheusStyleRelease("prometheus");

/** The releases of Alertmanager. */
export const alertmanagerRelease: DownloadSource = prometheusStyleRelease("alertmanager");

/** The release archives of Helm: tar.gz for every platform, each with its own checksum file. */
export const helmRelease: DownloadSource = listedRelease(({ version, platform, hosts }) => {
  const file = `helm-${version}-${platform.os}-${platform.arch}.tar.gz`;
  return { folder: hosts.helm, file, list: `${file}.sha256sum`, member: `${platform.os}-${platform.arch}/helm` };
});

/** The releases of cosign: bare binaries with one list of checksums. */
export const cosignRelease: DownloadSource = listedRelease(({ version, platform, hosts }) => {
  const file = `cosign-${platform.os}-${platform.arch}`;
  return { folder: `${hosts.cosign}/${version}`, file, list: "cosign_checksums.txt" };
});

/** The release archives with crane: one for every platform, with one list of checksums. */
export const craneRelease: DownloadSource = listedRelease(({ version, platform, hosts }) => {
  const system = platform.os === "linux" ? "Linux" : "Darwin";
  const file = `go-containerregistry_${system}_${platform.arch === "amd64" ? "x86_64" : platform.arch}.tar.gz`;
  return { folder: `${hosts.crane}/${version}`, file, list: "checksums.txt", member: "crane" };
});

/** The release archives of actionlint: tar.gz for every platform, with one list of checksums. */
export const actionlintRelease: DownloadSource = listedRelease(({ version, platform, hosts }) => {
  const stem = `actionlint_${version.slice(1)}`;
  const file = `${stem}_${platform.os}_${platform.arch}.tar.gz`;
  return { folder: `${hosts.actionlint}/${version}`, file, list: `${stem}_checksums.txt`, member: "actionlint" };
});

const envtestIndexSchema = z.object({
  releases: z.record(z.string(), z.record(z.string(), z.object({ hash: z.string(), selfLink: z.string() }))),
});

/**
 * The envtest archives of controller-tools. They are the only published kube-apiserver for macOS, and do not exist for
 * every patch version.
 */
export const envtestArchive: DownloadSource = async ({ name, version, platform, hosts, fetchText }) => {
  const index = envtestIndexSchema.parse(parseYaml(await fetchText(hosts.envtestIndex)));
  const entry = index.releases[version]?.[`envtest-${version}-${platform.os}-${platform.arch}.tar.gz`];
  if (entry === undefined) return undefined;
  const member = `controller-tools/envtest/${name}`;
  return { url: entry.selfLink, algorithm: "sha512", digest: entry.hash.toLowerCase(), member };
};

/**
 * Finds a digest in a checksum file. The file holds only the digest, or a list in the form of `sha256sum`.
 * @returns lower-case hexadecimal of `length` digits; `undefined`: the file does not have it.
 */
export function parseDigest(text: string, fileName: string | undefined, length: number): string | undefined {
  for (const line of text.split("\n")) {
    const [digest = "", name] = line.trim().split(/\s+\*?/);
    const isWanted = fileName === undefined || name === fileName;
    if (isWanted && digest.length === length && /^[0-9a-fA-F]+$/.test(digest)) return digest.toLowerCase();
  }
  return undefined;
}
