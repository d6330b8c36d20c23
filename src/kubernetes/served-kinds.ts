/** Finds out at the start which kinds the API server serves, and which of them the operator may list. */
import type { Logger } from "../domain/logger.ts";
import { type KindGap, type KindGaps, KubernetesError } from "../domain/resource-store.ts";
import {
  clusterControlPlaneNames,
  controlPlaneNames,
  databaseAccessNames,
  group,
  plural as mainPlural,
  version,
} from "../resource/names.ts";
import type { KubernetesConnection } from "./http/connection.ts";
import { objectPath } from "./http/objects.ts";

interface Asked {
  readonly connection: KubernetesConnection;
  readonly logger: Logger;
  /** The namespaces that the operator watches. Empty: all namespaces. */
  readonly namespaces: readonly string[];
}

const askTimeoutMs = 8_000;

/**
 * Lists each kind once. The operator leaves out what is missing until it is started again, and logs one line for it.
 * @returns where the operator does not watch the kinds that it can do without, by the name of the kind
 * @throws Error when the API server does not serve ComputeEndpoint; KubernetesError when it cannot be asked
 */
export async function findKindGaps(asked: Asked): Promise<ReadonlyMap<string, KindGaps>> {
  const served = await servedPlurals(asked.connection);
  if (!served.has(mainPlural)) {
    throw new Error(
      "The API server does not serve the kind ComputeEndpoint. Install the CustomResourceDefinitions (kubectl apply -k crds), then start the operator again.",
    );
  }
  const kinds = [databaseAccessNames, controlPlaneNames, clusterControlPlaneNames];
  return new Map(
    await Promise.all(
      kinds.map(async ({ kind, plural }) => {
        const isOfCluster = kind === clusterControlPlaneNames.kind || asked.namespaces.length === 0;
        const gaps = new Map<string | undefined, KindGap>();
        for (const namespace of isOfCluster ? [undefined] : asked.namespaces) {
          const gap = served.has(plural) ? await listOnce(asked.connection, plural, namespace) : "NotServed";
          if (gap !== undefined) {
            gaps.set(namespace, gap);
            asked.logger.warn({ kind, namespace, reason: gap }, messages[gap]);
          }
        }
        return [kind, gaps] as const;
      }),
    ),
  );
}

const messages: Readonly<Record<KindGap, string>> = {
  NotServed:
    "the API server does not serve this kind, so the operator leaves it out; apply the CustomResourceDefinitions and restart the operator",
  Forbidden: "the operator may not list this kind, so it leaves the kind out; apply the roles and restart the operator",
};

async function servedPlurals(connection: KubernetesConnection): Promise<ReadonlySet<unknown>> {
  const path = `/apis/${group}/${version}`;
  const call = { what: `find the kinds of ${group}`, method: "GET", path, timeoutMs: askTimeoutMs } as const;
  try {
    const { resources } = ((await connection.request(call)) ?? {}) as { readonly resources?: unknown };
    if (!Array.isArray(resources)) {
      throw new KubernetesError("UnreadableAnswer", `cannot ${call.what}: the answer holds no list of kinds`);
    }
    return new Set(resources.map(({ name }) => name));
  } catch (error) {
    if (gapOf(error) === "NotServed") {
      return new Set();
    }
    throw error;
  }
}

async function listOnce(
  connection: KubernetesConnection,
  plural: string,
  namespace: string | undefined,
): Promise<KindGap | undefined> {
  const path = objectPath(plural, namespace);
  try {
    await connection.request({
      what: `list ${plural}`,
      method: "GET",
      path,
      query: { limit: "1" },
      timeoutMs: askTimeoutMs,
    });
    return undefined;
  } catch (error) {
    const gap = gapOf(error);
    if (gap === undefined) {
      throw error;
    }
    return gap;
  }
}

/** Without a CRD, the API server answers 404, as a text or as a Status. */
function gapOf(error: unknown): KindGap | undefined {
  const reason = error instanceof KubernetesError ? error.reason : undefined;
  if (reason === "Forbidden") {
    return "Forbidden";
  }
  return reason === "NotFound" || reason === "NotServed" ? "NotServed" : undefined;
}
