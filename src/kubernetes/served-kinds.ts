/** Finds out at the start which kinds the API server serves, and which of them the operator may list. */
import type { Logger } from "../domain/logger.ts";
import { type KindGap, type KindGaps, KubernetesError } from "../domain/resource-store.ts";
import { clusterControlPlaneNames, kind as mainKind } from "../resource/names.ts";
import { undefinedIfNotFound } from "./http/answer-error.ts";
import type { KubernetesConnection } from "./http/connection.ts";
import { objectPath } from "./http/objects.ts";
import { namespaceKind } from "./namespace-grants.ts";
import { computeEndpointKind, databaseAccessKind, databaseBranchKind, planeKinds } from "./store/resource-kinds.ts";

interface Asked {
  readonly connection: KubernetesConnection;
  readonly logger: Logger;
  readonly namespaces: readonly string[];
}

const ofEndpoints = [computeEndpointKind, databaseAccessKind, databaseBranchKind];
const kinds = [...ofEndpoints, ...Object.values(planeKinds), namespaceKind];

const timeoutMs = 8_000;

/**
 * Lists each kind once. The operator leaves out what is missing until it is started again, and logs one line for it.
 * @returns where the operator does not watch the kinds that it can do without, by the name of the kind
 * @throws Error when the API server does not serve ComputeEndpoint; KubernetesError when it cannot be asked
 */
export async function findKindGaps(asked: Asked): Promise<ReadonlyMap<string, KindGaps>> {
  const all = await Promise.all(kinds.map(async (each) => [each.kind, await gapsOf(asked, each)] as const));
  return new Map(all.filter(([kind]) => kind !== mainKind));
}

async function gapsOf(
  { connection, logger, namespaces }: Asked,
  { kind, plural }: { readonly kind: string; readonly plural: string },
) {
  const isOfCluster = kind === clusterControlPlaneNames.kind || namespaces.length === 0;
  const gaps = new Map<string | undefined, KindGap>();
  for (const namespace of isOfCluster ? [undefined] : namespaces) {
    const gap = await gapIn(connection, plural, namespace);
    if (kind === mainKind && gap === "NotServed") {
      throw new Error(
        "The API server does not serve the kind ComputeEndpoint. Install the CustomResourceDefinitions (kubectl apply -k crds), then start the operator again.",
      );
    }
    // Without the right to list ComputeEndpoints the operator waits; /readyz names the namespaces.
    if (kind !== mainKind && gap !== undefined) {
      gaps.set(namespace, gap);
      logger.warn({ kind, namespace, reason: gap }, messages[gap]);
    }
  }
  return gaps;
}

const messages: Readonly<Record<KindGap, string>> = {
  NotServed:
    "the API server does not serve this kind, so the operator leaves it out; apply the CustomResourceDefinitions and restart the operator",
  Forbidden: "the operator may not list this kind, so it leaves the kind out; apply the roles and restart the operator",
};

async function gapIn(
  connection: KubernetesConnection,
  plural: string,
  namespace: string | undefined,
): Promise<KindGap | undefined> {
  const isOneNamespace = plural === "namespaces" && namespace !== undefined;
  const call = isOneNamespace
    ? { what: `read namespace ${namespace}`, path: objectPath(plural, "", namespace) }
    : { what: `list ${plural}`, path: objectPath(plural, namespace), query: { limit: "1" } };
  const answer = connection.request({ method: "GET", timeoutMs, ...call });
  try {
    // A Namespace that does not exist yet is no gap.
    await (isOneNamespace ? undefinedIfNotFound(answer) : answer);
    return undefined;
  } catch (error) {
    const reason = error instanceof KubernetesError ? error.reason : undefined;
    if (reason === "Forbidden") {
      return "Forbidden";
    }
    // Without a CRD, the API server answers 404, as a text or as a Status.
    if (reason === "NotFound" || reason === "NotServed") {
      return "NotServed";
    }
    throw error;
  }
}
