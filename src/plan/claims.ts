import type { EndpointType, ObservedEndpoint } from "../domain/endpoint.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import { type ComputeEndpoint, isBeingDeleted, isPaused } from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import type { CreateIntent } from "../resource/status-schema.ts";
import { ownershipToken, tokenIn } from "./ownership-token.ts";

/** What one other resource of the project holds or asks for. */
export interface Claim {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly creationTimestamp: string;
  /** The endpoint its status records. */
  readonly ownedEndpointId: string | undefined;
  readonly openIntent: CreateIntent | undefined;
  /** Whether it waits for a person: its open create, if any, then has its suspects frozen. */
  readonly isStalled: boolean;
  /** What its spec asks for; `undefined` when it is not in a position to ask: stalled, paused, deleted, broken. */
  readonly wish: Wish | undefined;
}

/** What a spec asks for. */
export interface Wish {
  readonly branchId: string;
  readonly type: EndpointType;
  /** Whether it would take over an endpoint, by name or whichever has its branch's read-write place. */
  readonly adopts: boolean;
  readonly adoptsEndpointId: string | undefined;
}

/** The claims of the others. A record that was made for another uid or cluster (a restored copy) claims nothing. */
export function claimsOf(others: readonly ComputeEndpoint[], selfUid: string, clusterId: string): readonly Claim[] {
  return others.filter((other) => other.uid !== selfUid).map((other) => claimOf(other, clusterId));
}

/** What a resource that is gone still holds: the endpoint that its create made and that is to be deleted. */
export function claimOfTheGone(key: ResourceKey, uid: string, endpointId: string): Claim {
  return {
    key,
    uid,
    creationTimestamp: "",
    ownedEndpointId: endpointId,
    openIntent: undefined,
    isStalled: false,
    wish: undefined,
  };
}

/** The resource that owns the endpoint, if another one does. */
export function ownerAmong(claims: readonly Claim[], endpointId: string): Claim | undefined {
  return claims.find((claim) => claim.ownedEndpointId === endpointId);
}

/**
 * The resource that created the endpoint, by the token in its name: it owns it, whether its record says so already or
 * not any more.
 */
export function creatorAmong(
  claims: readonly Claim[],
  endpoint: ObservedEndpoint,
  clusterId: string,
): Claim | undefined {
  const token = tokenIn(endpoint.name);
  return token === undefined ? undefined : claims.find(({ uid }) => ownershipToken(clusterId, uid) === token);
}

/** The resource whose open create may have made the endpoint: nobody else may take it until that is settled. */
export function suspectorAmong(claims: readonly Claim[], endpoint: ObservedEndpoint): Claim | undefined {
  return claims.find(({ openIntent: intent }) => intent !== undefined && mayHaveMade(intent, endpoint));
}

/** Whether an open create may have made this endpoint. */
export function mayHaveMade(intent: CreateIntent, endpoint: ObservedEndpoint): boolean {
  const fits = endpoint.branchId === intent.branchId && endpoint.type === intent.type;
  return (fits && !intent.preIds.includes(endpoint.id)) || (intent.suspectIds ?? []).includes(endpoint.id);
}

/** The resource that comes first for the read-write place of a branch: an open create, else the oldest that asks. */
export function rivalForBranch(claims: readonly Claim[], branchId: string, self: ComputeEndpoint): Claim | undefined {
  const withIntent = claims.find(
    ({ openIntent }) => openIntent?.branchId === branchId && openIntent.type === "ReadWrite",
  );
  return withIntent ?? elderAmong(claims, self, (wish) => wish.branchId === branchId && wish.type === "ReadWrite");
}

/** The older resource that asks to adopt the same endpoint; one that owns another endpoint adopts no more. */
export function rivalForAdoption(
  claims: readonly Claim[],
  endpoint: ObservedEndpoint,
  self: ComputeEndpoint,
): Claim | undefined {
  const asking = claims.filter(({ ownedEndpointId }) => ownedEndpointId === undefined);
  return elderAmong(asking, self, (wish) => isWishFor(wish, endpoint));
}

function isWishFor({ adopts, adoptsEndpointId, branchId, type }: Wish, endpoint: ObservedEndpoint): boolean {
  if (adoptsEndpointId !== undefined) {
    return adoptsEndpointId === endpoint.id;
  }
  return adopts && type === "ReadWrite" && endpoint.type === "ReadWrite" && branchId === endpoint.branchId;
}

function elderAmong(claims: readonly Claim[], self: ComputeEndpoint, isRival: (wish: Wish) => boolean) {
  return claims
    .filter((claim) => claim.wish !== undefined && isRival(claim.wish) && isElder(claim, self))
    .sort((a, b) => (isElder(a, b) ? -1 : 1))[0];
}

type Aged = Pick<ComputeEndpoint, "creationTimestamp" | "uid">;

function isElder(a: Aged, b: Aged): boolean {
  return a.creationTimestamp === b.creationTimestamp ? a.uid < b.uid : a.creationTimestamp < b.creationTimestamp;
}

function claimOf(other: ComputeEndpoint, clusterId: string): Claim {
  const { ownership, createIntent } = other.status;
  return {
    key: other.key,
    uid: other.uid,
    creationTimestamp: other.creationTimestamp,
    ownedEndpointId: ownership?.resourceUid === other.uid ? ownership.endpointId : undefined,
    openIntent: createIntent && isIntentOf(other, createIntent, clusterId) ? createIntent : undefined,
    isStalled: isTrue(other.status.conditions, "Stalled"),
    wish: wishOf(other),
  };
}

/** Most resources have no open create, and a hash for each of them on every pass would be felt. */
function isIntentOf({ uid }: ComputeEndpoint, { token }: CreateIntent, clusterId: string): boolean {
  return token === ownershipToken(clusterId, uid);
}

function wishOf(other: ComputeEndpoint): Wish | undefined {
  const canAsk = !isBeingDeleted(other) && !isPaused(other) && !isTrue(other.status.conditions, "Stalled");
  if (!canAsk || other.spec.kind === "Invalid") {
    return undefined;
  }
  const { branchId, type, adoption } = other.spec.spec;
  const adopts = adoption !== undefined && adoption.policy !== "Never";
  return { branchId, type, adopts, adoptsEndpointId: adoption?.endpointId };
}
