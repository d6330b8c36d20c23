/** Reads the files from which the charts are made. */
import { readFile } from "node:fs/promises";
import { parseAllDocuments } from "yaml";

/** A Kubernetes object as in its file. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** The sources of the charts: the files of `deploy/`, and the texts that `npm run generate` makes. */
export interface DeploySources {
  /** The objects by the path of their file, for instance `deploy/base/deployment.yaml`. */
  readonly manifests: ReadonlyMap<string, readonly Manifest[]>;
  /** The settings in `deploy/base/settings.env`, by name. */
  readonly settings: ReadonlyMap<string, string>;
  /** The names of all settings in docs/settings.md. */
  readonly settingNames: readonly string[];
  /** The version in package.json. */
  readonly version: string;
  readonly licence: string;
  /** The text of the CustomResourceDefinitions. */
  readonly crd: string;
  /** The text of the rules file for Prometheus. */
  readonly rules: string;
  /** The text of the Grafana dashboard. */
  readonly dashboard: string;
}

/** The texts that `npm run generate` makes before the charts. */
export type GeneratedTexts = Pick<DeploySources, "crd" | "rules" | "dashboard">;

const manifestFiles = [
  "deploy/base/service-account.yaml",
  "deploy/base/cluster-role.yaml",
  "deploy/base/lease-role.yaml",
  "deploy/base/key-role.yaml",
  "deploy/base/people-roles.yaml",
  "deploy/base/secrets-role.yaml",
  "deploy/base/deployment.yaml",
  "deploy/base/disruption-budget.yaml",
  "deploy/base/network-policy.yaml",
  "deploy/metrics-auth/metrics-auth.yaml",
  "deploy/namespaced/watched-namespace.yaml",
  "deploy/monitoring/pod-monitor.yaml",
];

/** Reads the sources of the charts. @param root the repository */
export async function readDeploySources(root: URL, generated: GeneratedTexts): Promise<DeploySources> {
  const read = (path: string) => readFile(new URL(path, root), "utf8");
  const manifests = await Promise.all(
    manifestFiles.map(async (file) => [file, manifestsIn(await read(file))] as const),
  );
  const { version, license } = JSON.parse(await read("package.json")) as { version: string; license: string };
  const settingRows = (await read("docs/settings.md")).matchAll(/^\| `([A-Z_]+)` \|/gm);
  return {
    ...generated,
    manifests: new Map(manifests),
    settings: settingsIn(await read("deploy/base/settings.env")),
    settingNames: [...settingRows].map(([, name = ""]) => name),
    version,
    licence: license,
  };
}

function manifestsIn(text: string): readonly Manifest[] {
  // The API server and kustomize read YAML 1.1, in which 0440 is octal.
  return parseAllDocuments(text, { version: "1.1" }).map((document) => document.toJS() as Manifest);
}

function settingsIn(text: string): ReadonlyMap<string, string> {
  const lines = text.split("\n").filter((line) => /^[A-Z_]+=/.test(line));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

/** Returns the objects of one file. @throws Error when the file is not a source of the charts */
export function manifestsOf(sources: DeploySources, file: string): readonly Manifest[] {
  const found = sources.manifests.get(file);
  if (found === undefined) throw new Error(`${file} is not a source of the charts`);
  return found;
}
