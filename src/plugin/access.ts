/** Opens the cluster and the control plane for `kubectl endpoints`, with the user's own rights. */
import { type ControlPlaneClient, createControlPlane } from "../control-plane/create-control-plane.ts";
import { createKeySource } from "../control-plane/key-source.ts";
import type { Identity } from "../decide/identity.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { KubernetesError, keyText, type ResourceKey } from "../domain/resource-store.ts";
import { createConnection, type KubernetesConnection } from "../kubernetes/http/connection.ts";
import { loadCredentialSource } from "../kubernetes/http/credentials.ts";
import {
  computeEndpointPath,
  computeEndpointsPath,
  namespacePath,
  namespacesPath,
  readClusterId,
  resourcePath,
} from "../kubernetes/http/objects.ts";
import { parseNamespace } from "../kubernetes/namespace-watch.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../resource/compute-endpoint.ts";
import { parseClusterControlPlane, parseControlPlane } from "../resource/control-plane-resource.ts";
import { type DatabaseAccess, parseDatabaseAccess } from "../resource/database-access.ts";
import { clusterControlPlaneNames, controlPlaneNames, databaseAccessNames } from "../resource/names.ts";
import { systemClock } from "../runtime/system-clock.ts";
import type { NamedPlane, PlaneReading, PlaneReads } from "./named-plane.ts";
import type { NamespaceReads } from "./read-grants.ts";

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

const timeoutMs = 10_000;
const pageLimit = 500;
const mostPages = 1_000;

/** The cluster, with the rights of the user's kubeconfig. */
export interface ClusterAccess extends NamespaceReads, PlaneReads {
  /** The namespace of the kubeconfig's context; `default` if there is none. */
  readonly namespace: string;
  get(namespace: string, name: string): Promise<ComputeEndpoint>;
  getAccess(namespace: string, name: string): Promise<DatabaseAccess>;
  /** Returns the stored object unparsed, so that a plan can be made with another spec. */
  getStored(namespace: string, name: string): Promise<unknown>;
  /** Sets an annotation of a ComputeEndpoint. The plugin writes nothing else to the cluster. */
  annotate(key: ResourceKey, annotation: string, value: string): Promise<void>;
  /** Returns every ComputeEndpoint of the cluster. */
  list(): Promise<readonly ComputeEndpoint[]>;
  clusterId(): Promise<string>;
  close(): Promise<void>;
}

/** Opens the cluster of the current kubeconfig context. @throws KubeconfigError */
export function openCluster(version: string): ClusterAccess {
  const userAgent = `kubectl-endpoints/${version}`;
  const connection = createConnection({ credentials: loadCredentialSource(), clock: systemClock, userAgent });
  const getStored = (namespace: string, name: string) =>
    connection.request({
      what: `read ComputeEndpoint ${namespace}/${name}`,
      method: "GET",
      path: computeEndpointPath({ namespace, name }),
      timeoutMs,
    });
  return {
    namespace: connection.namespace,
    getStored,
    get: async (namespace, name) => parseComputeEndpoint(await getStored(namespace, name)),
    async annotate(key, annotation, value) {
      await connection.request({
        what: `annotate ComputeEndpoint ${keyText(key)}`,
        method: "PATCH",
        path: computeEndpointPath(key),
        contentType: "application/merge-patch+json",
        body: { metadata: { annotations: { [annotation]: value } } },
        timeoutMs,
      });
    },
    getAccess: async (namespace, name) => {
      const what = `read DatabaseAccess ${namespace}/${name}`;
      const path = resourcePath(databaseAccessNames.plural, { namespace, name });
      return parseDatabaseAccess(await connection.request({ what, method: "GET", path, timeoutMs }));
    },
    getPlane: (named) => readPlane(connection, named),
    list: () =>
      listAll(connection, {
        what: "ComputeEndpoints",
        path: computeEndpointsPath(undefined),
        parse: parseComputeEndpoint,
      }),
    listNamespaces: () =>
      unlessForbidden(async () => {
        const all = await listAll(connection, { what: "Namespaces", path: namespacesPath, parse: parseNamespace });
        return new Map(all.flatMap((each) => (each === undefined ? [] : [[each.key.name, each.facts] as const])));
      }),
    getNamespace: (namespace) =>
      unlessForbidden(async () => {
        const what = `read namespace ${namespace}`;
        const stored = await connection.request({ what, method: "GET", path: namespacePath(namespace), timeoutMs });
        return parseNamespace(stored)?.facts;
      }),
    clusterId: () => readClusterId(connection),
    close: () => connection.close(),
  };
}

async function readPlane(connection: KubernetesConnection, { ref, namespace }: NamedPlane): Promise<PlaneReading> {
  const isOfCluster = ref.kind === "ClusterControlPlane";
  const { plural } = isOfCluster ? clusterControlPlaneNames : controlPlaneNames;
  const path = resourcePath(plural, { namespace: isOfCluster ? "" : namespace, name: ref.name });
  try {
    const stored = await connection.request({ what: `read ${ref.kind} ${ref.name}`, method: "GET", path, timeoutMs });
    return { kind: "Found", plane: isOfCluster ? parseClusterControlPlane(stored) : parseControlPlane(stored) };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    if (error.reason === "NotFound" || error.reason === "NotServed") return { kind: "Absent" };
    if (error.reason === "Forbidden") return { kind: "Forbidden" };
    throw error;
  }
}

interface Listed<Item> {
  readonly what: string;
  readonly path: string;
  readonly parse: (stored: unknown) => Item;
}

async function listAll<Item>(
  connection: KubernetesConnection,
  { what, path, parse }: Listed<Item>,
): Promise<readonly Item[]> {
  const found: Item[] = [];
  let next = "";
  for (let page = 0; page < mostPages; page += 1) {
    const answer = await connection.request({
      ...{ what: `list ${what}`, method: "GET", path, timeoutMs },
      query: { limit: String(pageLimit), ...(next !== "" && { continue: next }) },
    });
    const { items, metadata } = answer as { items: readonly unknown[]; metadata: { continue?: string } };
    found.push(...items.map((item) => parse(item)));
    next = metadata.continue ?? "";
    if (next === "") return found;
  }
  throw new Error(`the cluster has more than ${mostPages * pageLimit} ${what}`);
}

/** Returns the result of the read; `undefined` if the user has no right to it, or if the Namespace is gone. */
async function unlessForbidden<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof KubernetesError && ["Forbidden", "NotFound", "NotServed"].includes(error.reason))
      return undefined;
    throw error;
  }
}

/**
 * Opens the control plane that CONTROL_PLANE_URL names, with CONTROL_PLANE_API_KEY or CONTROL_PLANE_API_KEY_FILE.
 *
 * @throws Error when a setting is missing
 */
export function openService(env: Environment, version: string): ControlPlaneClient {
  const { CONTROL_PLANE_URL: baseUrl, CONTROL_PLANE_API_KEY: key, CONTROL_PLANE_API_KEY_FILE: file } = env;
  if (!baseUrl || !(key || file)) {
    throw new Error("Set CONTROL_PLANE_URL, and CONTROL_PLANE_API_KEY or CONTROL_PLANE_API_KEY_FILE.");
  }
  const keys = key ? createKeySource({ key }) : createKeySource({ file: file ?? "", clock: systemClock });
  const userAgent = `kubectl-endpoints/${version}`;
  const ignore = () => undefined;
  const observer = { requestEnded: ignore, throttled: ignore, budgetWaited: ignore, locked: ignore };
  return createControlPlane({ baseUrl, keys, clock: systemClock, observer, userAgent });
}

/** Returns the identity in ownership records: cluster and control plane. */
export async function identityOf(cluster: ClusterAccess, service: ControlPlane, env: Environment): Promise<Identity> {
  return { clusterId: env.CLUSTER_ID || (await cluster.clusterId()), serviceUrl: service.serviceUrl };
}
