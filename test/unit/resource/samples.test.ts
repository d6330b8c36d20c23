/** Tests the samples and the manifests in the documentation. */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { clusterControlPlaneSpecSchema, controlPlaneSpecSchema } from "../../../src/resource/control-plane-schema.ts";
import { databaseAccessSpecSchema } from "../../../src/resource/database-access-schema.ts";
import { databaseBranchSpecSchema } from "../../../src/resource/database-branch-schema.ts";
import { group, version } from "../../../src/resource/names.ts";
import { specSchema } from "../../../src/resource/spec-schema.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const schemas: Readonly<Record<string, { safeParse(spec: unknown): { readonly error?: unknown } }>> = {
  ComputeEndpoint: specSchema,
  DatabaseAccess: databaseAccessSpecSchema,
  DatabaseBranch: databaseBranchSpecSchema,
  ControlPlane: controlPlaneSpecSchema,
  ClusterControlPlane: clusterControlPlaneSpecSchema,
};

interface Manifest {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly metadata?: { readonly name: string; readonly namespace?: string };
  readonly spec: unknown;
}

/** Returns the operator's resources in a YAML text. Other objects and parts of manifests are left out. */
function resourcesIn(text: string): readonly Manifest[] {
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Manifest | null);
  return objects.filter((object) => object?.apiVersion?.startsWith(`${group}/`)) as readonly Manifest[];
}

async function filesIn(folder: string, end: string): Promise<readonly string[]> {
  return (await readdir(path.join(root, folder)))
    .filter((name) => name.endsWith(end))
    .map((name) => `${folder}/${name}`);
}

const samples = [...(await filesIn("deploy/samples", ".yaml")), ...(await filesIn("deploy/samples/previews", ".yaml"))];
const pages = ["README.md", ...(await filesIn("docs", ".md"))];

async function manifests(): Promise<readonly (readonly [string, Manifest])[]> {
  const found: (readonly [string, Manifest])[] = [];
  for (const file of [...samples, ...pages]) {
    const text = await readFile(path.join(root, file), "utf8");
    const parts = file.endsWith(".md")
      ? [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, part = ""]) => part)
      : [text];
    for (const manifest of parts.flatMap(resourcesIn)) found.push([`${file} ${manifest.kind}`, manifest]);
  }
  return found;
}

const all = await manifests();

describe("samples and the manifests of the docs", () => {
  test.each(all)("%s → a spec that its schema accepts", (_file, { apiVersion, kind, metadata, spec }) => {
    expect(apiVersion).toBe(`${group}/${version}`);
    expect(schemas[kind]?.safeParse(spec)).toMatchObject({ success: true });
    expect(metadata?.name).toMatch(/./);
    if (kind === "ClusterControlPlane") expect(metadata?.namespace).toBeUndefined();
  });

  test("every kind → has a sample and a manifest in the docs", () => {
    const kindsIn = (isWanted: (file: string) => boolean) =>
      [...new Set(all.filter(([file]) => isWanted(file)).map(([, { kind }]) => kind))].sort();
    const isSample = (file: string) => file.startsWith("deploy/");
    expect(kindsIn(isSample)).toEqual(Object.keys(schemas).sort());
    expect(kindsIn((file) => !isSample(file))).toEqual(Object.keys(schemas).sort());
  });
});
