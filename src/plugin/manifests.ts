/** ComputeEndpoints from files, as the API server would store them. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { parseAllDocuments } from "yaml";
import { keyText } from "../domain/resource-store.ts";
import { undefinedIfNotFound } from "../kubernetes/http/answer-error.ts";
import { computeEndpointKind } from "../kubernetes/store/resource-kinds.ts";
import { parseComputeEndpoint } from "../resource/compute-endpoint.ts";
import { type Cluster, orRefusal } from "./cluster.ts";

export interface Manifest {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string; readonly annotations?: object };
  readonly items?: readonly Manifest[];
  readonly status?: unknown;
}

/** Returns the manifests of a folder. A file, or `-`, stands for itself. */
export async function filesIn(name: string): Promise<readonly string[]> {
  if (name === "-" || !(await stat(name)).isDirectory()) return [name];
  const files = (await readdir(name)).filter((file) => /\.(?:ya?ml|json)$/.test(file)).sort();
  return files.map((file) => join(name, file));
}

/** @param name a file, or `-` for `input`. @throws Error when it cannot be read or is not YAML */
export async function readManifests(name: string, input: NodeJS.ReadableStream): Promise<readonly Manifest[]> {
  const content = name === "-" ? await text(input) : await readFile(name, "utf8");
  return parseAllDocuments(content).flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw new Error(`not YAML: ${problem.message}`);
    const object = document.toJS() as Manifest | null;
    return (object?.items ?? [object]).filter((each) => each !== null);
  });
}

/**
 * Spec and annotations of the manifest replace the stored ones. A user who may not write gets a result that the API
 * server has not checked. @throws KubernetesError with the words of the API server when it would refuse the object
 */
export async function applied(
  manifest: Manifest,
  cluster: Pick<Cluster, "get" | "tryWrite">,
  defaultNamespace: string,
) {
  const { name, namespace = defaultNamespace, annotations } = manifest.metadata ?? {};
  if (name === undefined) throw new Error("A ComputeEndpoint has no name.");
  const key = { namespace, name };
  const asStored = { ...computeEndpointKind, parse: (stored: unknown) => stored as Manifest };
  const before = await undefinedIfNotFound(cluster.get(asStored, key));
  const both = { ...before?.metadata?.annotations, ...annotations };
  const metadata = { ...before?.metadata, ...manifest.metadata, namespace, annotations: both };
  const object = { ...manifest, metadata, status: before?.status };
  const answer = await orRefusal(cluster.tryWrite(key, before === undefined ? "POST" : "PUT", object));
  if (answer === "Absent") throw new Error(`There is no Namespace ${namespace}.`);
  const isChecked = answer !== "Forbidden";
  const result = isChecked ? (answer as Manifest) : object;
  const made = { uid: `new ${keyText(key)}`, resourceVersion: "0", creationTimestamp: new Date().toISOString() };
  return { resource: parseComputeEndpoint({ ...result, metadata: { ...made, ...result.metadata } }), isChecked };
}
