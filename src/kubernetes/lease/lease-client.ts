import { KubernetesError } from "../../domain/resource-store.ts";
import { undefinedIfNotFound } from "../http/answer-error.ts";
import type { KubernetesCall, KubernetesConnection } from "../http/connection.ts";
import { mergePatch, metadataOf, microTime, objectPath } from "../http/objects.ts";

export interface StoredLease {
  readonly uid: string;
  readonly resourceVersion: string;
  /** The identity of the process that holds the Lease; "" if no process holds it. */
  readonly holder: string;
  /** How long a renewal counts, as its holder wrote it, in milliseconds; 0 if the Lease has no duration. */
  readonly durationMs: number;
  readonly transitions: number;
}

export interface LeaseClaim {
  /** The identity of the holder after this write; "" releases the Lease. */
  readonly holder: string;
  /** How long the renewal counts, in milliseconds. The Lease stores whole seconds, rounded up. */
  readonly durationMs: number;
  readonly transitions: number;
  /** When the lease was renewed, in epoch milliseconds. It is for people only: no decision depends on it. */
  readonly renewTimeMs: number;
  /** When the holder got the Lease, in epoch milliseconds; `undefined` leaves it unchanged. */
  readonly acquireTimeMs: number | undefined;
}

export interface LeaseCallBounds {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface LeaseClient {
  read(bounds: LeaseCallBounds): Promise<StoredLease | undefined>;
  /**
   * Replaces `over`, the Lease that was read, or creates the Lease if `over` is `undefined`.
   * @throws KubernetesError; `Conflict` or `NotFound` if the stored Lease is not `over` any more
   */
  write(claim: LeaseClaim, over: StoredLease | undefined, bounds: LeaseCallBounds): Promise<StoredLease>;
}

interface LeaseClientOptions {
  /** A separate connection, so that no list and no patch can delay the Lease. */
  readonly connection: KubernetesConnection;
  readonly namespace: string;
  readonly name: string;
}

export function createLeaseClient(options: LeaseClientOptions): LeaseClient {
  const { connection, namespace, name } = options;
  const lease = `Lease ${namespace}/${name}`;
  const path = objectPath("leases", namespace, name);
  return {
    async read(bounds) {
      const what = `read ${lease}`;
      const call: KubernetesCall = { what, method: "GET", path, ...bounds };
      return await undefinedIfNotFound(connection.request(call).then((answer) => parseLease(what, answer)));
    },
    async write(claim, over, bounds) {
      const what = `write ${lease}`;
      const spec = specOf(claim);
      const created = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, namespace }, spec };
      const call =
        over === undefined
          ? ({ method: "POST", path: objectPath("leases", namespace), body: created } as const)
          : { path, ...mergePatch({ spec }, over) };
      return parseLease(what, await connection.request({ what, ...call, ...bounds }));
    },
  };
}

function specOf(claim: LeaseClaim): object {
  return {
    holderIdentity: claim.holder,
    leaseDurationSeconds: Math.max(1, Math.ceil(claim.durationMs / 1_000)),
    leaseTransitions: claim.transitions,
    renewTime: microTime(claim.renewTimeMs),
    ...(claim.acquireTimeMs === undefined ? {} : { acquireTime: microTime(claim.acquireTimeMs) }),
  };
}

function parseLease(what: string, stored: unknown): StoredLease {
  const { spec } = (stored ?? {}) as { readonly spec?: Readonly<Record<string, unknown>> };
  const { uid, resourceVersion } = metadataOf(stored);
  if (typeof uid !== "string" || typeof resourceVersion !== "string" || uid === "" || resourceVersion === "") {
    throw new KubernetesError("UnreadableAnswer", `cannot ${what}: the answer is not a Lease`);
  }
  const { holderIdentity, leaseDurationSeconds, leaseTransitions } = spec ?? {};
  return {
    uid,
    resourceVersion,
    holder: typeof holderIdentity === "string" ? holderIdentity : "",
    durationMs: typeof leaseDurationSeconds === "number" ? Math.max(0, leaseDurationSeconds * 1_000) : 0,
    transitions: typeof leaseTransitions === "number" ? leaseTransitions : 0,
  };
}
