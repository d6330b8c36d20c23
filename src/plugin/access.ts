import { readFile } from "node:fs/promises";
import { type ControlPlaneClient, createControlPlane } from "../control-plane/create-control-plane.ts";
import { KubernetesError, keyText, type ResourceKey } from "../domain/resource-store.ts";
import { createConnection, type KubernetesConnection } from "../kubernetes/http/connection.ts";
import { loadCredentialSource } from "../kubernetes/http/credentials.ts";
import { objectPath, readClusterId } from "../kubernetes/http/objects.ts";
import { parseNamespace } from "../kubernetes/namespace-grants.ts";
import { ApiKey, keyIn, keyInFile } from "../planes/api-key.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../resource/compute-endpoint.ts";
import { parseClusterControlPlane, parseControlPlane } from "../resource/control-plane-resource.ts";
import { type DatabaseAccess, parseDatabaseAccess } from "../resource/database-access.ts";
import { clusterControlPlaneNames, controlPlaneNames, databaseAccessNames, plural } from "../resource/names.ts";
import { systemClock } from "../runtime/system-clock.ts";
import type { PlaneReads } from "./named-plane.ts";
import type { NamespaceReads } from "./read-grants.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const timeoutMs = 10_000;
const pageLimit = 500;
const mostPages = 1_000;

export interface ClusterAccess extends NamespaceReads, PlaneReads {
  /** The namespace of the kubeconfig's context; `default` if there is none. */
  readonly namespace: string;
  get(namespace: string, name: string): Promise<ComputeEndpoint>;
  getAccess(namespace: string, name: string): Promise<DatabaseAccess>;
  /** Returns the stored object without parsing it, so that its spec can be replaced for a plan. */
  getStored(namespace: string, name: string): Promise<unknown>;
  /** Sets an annotation of a ComputeEndpoint. This is the plugin's only write to the cluster. */
  annotate(key: ResourceKey, annotation: string, value: string): Promise<void>;
  list(): Promise<readonly ComputeEndpoint[]>;
  clusterId(): Promise<string>;
  close(): Promise<void>;
}

/** @throws KubeconfigError */
export function openCluster(version: string): ClusterAccess {
  const userAgent = `kubectl-endpoints/${version}`;
  const connection = createConnection({
    credentials: loadCredentialSource(),
    clock: systemClock,
    userAgent,
  });
  const read = (what: string, path: string) =>
    connection.request({ what: `read ${what}`, method: "GET", path, timeoutMs });
  const getStored = (namespace: string, name: string) =>
    read(`ComputeEndpoint ${namespace}/${name}`, objectPath(plural, namespace, name));
  return {
    namespace: connection.namespace,
    getStored,
    get: async (namespace, name) => parseComputeEndpoint(await getStored(namespace, name)),
    async annotate(key, annotation, value) {
      await connection.request({
        what: `annotate ComputeEndpoint ${keyText(key)}`,
        method: "PATCH",
        path: objectPath(plural, key.namespace, key.name),
        contentType: "application/merge-patch+json",
        body: { metadata: { annotations: { [annotation]: value } } },
        timeoutMs,
      });
    },
    getAccess: async (namespace, name) => {
      const path = objectPath(databaseAccessNames.plural, namespace, name);
      return parseDatabaseAccess(await read(`DatabaseAccess ${namespace}/${name}`, path));
    },
    async getPlane({ ref, namespace }) {
      const isOfCluster = ref.kind === "ClusterControlPlane";
      const names = isOfCluster ? clusterControlPlaneNames : controlPlaneNames;
      const path = objectPath(names.plural, isOfCluster ? undefined : namespace, ref.name);
      const stored = await orRefusal(read(`${ref.kind} ${ref.name}`, path));
      if (stored === "Absent" || stored === "Forbidden") return { kind: stored };
      return { kind: "Found", plane: isOfCluster ? parseClusterControlPlane(stored) : parseControlPlane(stored) };
    },
    list: async () =>
      (await listAll(connection, "ComputeEndpoints", objectPath(plural, undefined))).map((stored) =>
        parseComputeEndpoint(stored),
      ),
    async listNamespaces() {
      const all = await orRefusal(listAll(connection, "Namespaces", objectPath("namespaces", "")));
      if (typeof all === "string") return undefined;
      const parsed = all.map(parseNamespace);
      return new Map(parsed.map(({ key, facts }) => [key.name, facts]));
    },
    async getNamespace(namespace) {
      const stored = await orRefusal(read(`namespace ${namespace}`, objectPath("namespaces", "", namespace)));
      return typeof stored === "string" ? undefined : parseNamespace(stored).facts;
    },
    clusterId: () => readClusterId(connection),
    close: () => connection.close(),
  };
}

async function listAll(connection: KubernetesConnection, what: string, path: string): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  let next = "";
  for (let page = 0; page < mostPages; page += 1) {
    const answer = await connection.request({
      ...{ what: `list ${what}`, method: "GET", path, timeoutMs },
      query: { limit: String(pageLimit), ...(next !== "" && { continue: next }) },
    });
    const { items, metadata } = answer as { items: readonly unknown[]; metadata: { continue?: string } };
    found.push(...items);
    next = metadata.continue ?? "";
    if (next === "") return found;
  }
  throw new Error(`the cluster has more than ${mostPages * pageLimit} ${what}`);
}

/** Returns the result of the read. `Absent`: there is no such object. `Forbidden`: the user may not read it. */
async function orRefusal<T>(read: Promise<T>): Promise<T | "Absent" | "Forbidden"> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    if (error.reason === "Forbidden") return "Forbidden";
    if (error.reason === "NotFound" || error.reason === "NotServed") return "Absent";
    throw error;
  }
}

/** @throws Error when a setting is missing */
export function openService(env: Environment, version: string): ControlPlaneClient {
  const { CONTROL_PLANE_URL: baseUrl, CONTROL_PLANE_API_KEY: key, CONTROL_PLANE_API_KEY_FILE: file } = env;
  if (!baseUrl || !(key || file)) {
    throw new Error("Set CONTROL_PLANE_URL, and CONTROL_PLANE_API_KEY or CONTROL_PLANE_API_KEY_FILE.");
  }
  const ignore = () => undefined;
  const read = key ? async () => keyIn(key, "CONTROL_PLANE_API_KEY") : keyInFile(() => readFile(file ?? "", "utf8"));
  const againMs = Number.POSITIVE_INFINITY;
  const keys = new ApiKey({ clock: systemClock, read, againMs, onChange: ignore, onKey: ignore });
  const userAgent = `kubectl-endpoints/${version}`;
  const observer = { requestEnded: ignore, throttled: ignore, budgetWaited: ignore, locked: ignore };
  return createControlPlane({ baseUrl, keys, clock: systemClock, observer, userAgent });
}
