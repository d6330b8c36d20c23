import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import { type ComputeEndpoint, isBeingDeleted, isPaused } from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { CreateIntent } from "../resource/status-schema.ts";
import type { Identity } from "./identity.ts";
import { ownershipToken } from "./ownership-token.ts";
import type { PostState } from "./resource-memory.ts";

/** What one resource of the project holds, and what it asks for. */
export interface Claim {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly creationTimestamp: string;
  /** The endpoint that its records or its unstored answer name; `undefined`: none, or the record was copied. */
  readonly ownedEndpointId: string | undefined;
  readonly openCreate: OpenCreate | undefined;
  /** `undefined` while the resource may not ask: it is Stalled, paused, being deleted, or its spec is invalid. */
  readonly wish: ComputeEndpointSpec | undefined;
}

/** An open create of a resource. */
export interface OpenCreate {
  readonly intent: CreateIntent;
  readonly posts: PostState;
  /** True: it goes on only when a person acts: it is paused, or Stalled with the suspects recorded in the intent. */
  readonly isHeld: boolean;
}

/** What the operator knows about a resource beside its stored form. */
export interface UnstoredFacts {
  /** The endpoint of an answered create that status does not name yet. */
  readonly answeredEndpointId: string | undefined;
  readonly posts: PostState;
}

/**
 * The claims of all resources of one project, for one reconcile.
 *
 * A resource never competes with itself: every question names the uid of the resource that asks.
 */
export class ProjectClaims {
  readonly #claims: readonly Claim[];
  readonly #identity: Identity;
  readonly #byOwnedId: ReadonlyMap<string, readonly Claim[]>;
  #byToken: ReadonlyMap<string, Claim> | undefined;

  /** @param claims of every resource of the project. */
  constructor(claims: readonly Claim[], identity: Identity) {
    this.#claims = claims;
    this.#identity = identity;
    this.#byOwnedId = Map.groupBy(
      claims.filter(({ ownedEndpointId }) => ownedEndpointId !== undefined),
      ({ ownedEndpointId }) => ownedEndpointId ?? "",
    );
  }

  /** Another resource that owns the endpoint. */
  ownerOf(endpointId: string, selfUid: string): Claim | undefined {
    return this.#byOwnedId.get(endpointId)?.find(({ uid }) => uid !== selfUid);
  }

  /** Another resource whose token the endpoint carries. */
  creatorByToken(token: string, selfUid: string): Claim | undefined {
    this.#byToken ??= new Map(
      this.#claims.map((claim) => [ownershipToken(this.#identity.clusterId, claim.uid), claim]),
    );
    const claim = this.#byToken.get(token);
    return claim?.uid === selfUid ? undefined : claim;
  }

  /** Another resource whose open create may have made the endpoint. */
  possibleCreatorOf(endpoint: ObservedEndpoint, selfUid: string): Claim | undefined {
    return this.#claims.find(
      ({ uid, openCreate }) => uid !== selfUid && openCreate !== undefined && mayHaveMade(openCreate.intent, endpoint),
    );
  }

  /**
   * Another resource whose unresolved create is on the same branch and of the same type. Of two that have an open create,
   * only the younger one follows the other: else each would wait for the other for ever.
   */
  unresolvedCreateAt(
    { branchId, type }: Pick<CreateIntent, "branchId" | "type">,
    self: ComputeEndpoint,
  ): Claim | undefined {
    const hasOpenCreate = self.status.createIntent !== undefined;
    return this.#claims.find(
      (claim) =>
        claim.uid !== self.uid && (!hasOpenCreate || isElder(claim, self)) && isUnresolvedAt(claim, branchId, type),
    );
  }

  /** The resource that comes first for the read-write place of a branch: an open create, else the oldest that asks. */
  rivalForBranch(branchId: string, self: ComputeEndpoint): Claim | undefined {
    const withIntent = this.#claims.find(
      ({ uid, openCreate }) =>
        uid !== self.uid && openCreate?.intent.branchId === branchId && openCreate.intent.type === "ReadWrite",
    );
    return withIntent ?? this.#elder(self, (wish) => wish.branchId === branchId && wish.type === "ReadWrite");
  }

  /** The older resource that asks to adopt the same endpoint and owns none. */
  rivalForAdoption(endpoint: ObservedEndpoint, self: ComputeEndpoint): Claim | undefined {
    return this.#elder(self, (wish, claim) => claim.ownedEndpointId === undefined && adopts(wish, endpoint));
  }

  #elder(self: ComputeEndpoint, isRival: (wish: ComputeEndpointSpec, claim: Claim) => boolean): Claim | undefined {
    return this.#claims
      .filter((claim) => claim.uid !== self.uid && claim.wish !== undefined && isRival(claim.wish, claim))
      .filter((claim) => isElder(claim, self))
      .reduce<Claim | undefined>(
        (first, each) => (first === undefined || isElder(each, first) ? each : first),
        undefined,
      );
  }
}

/**
 * What a resource claims. A record that was made for another uid or in another cluster claims nothing; one that cannot
 * be parsed still claims the endpoint that it names.
 */
export function claimOf(resource: ComputeEndpoint, identity: Identity, unstored: UnstoredFacts): Claim {
  const { createIntent } = resource.status;
  return {
    key: resource.key,
    uid: resource.uid,
    creationTimestamp: resource.creationTimestamp,
    ownedEndpointId: recordedEndpointId(resource, identity) ?? unstored.answeredEndpointId,
    openCreate:
      createIntent !== undefined && createIntent.token === ownershipToken(identity.clusterId, resource.uid)
        ? {
            intent: createIntent,
            posts: unstored.posts,
            isHeld:
              isPaused(resource) ||
              (isTrue(resource.status.conditions, "Stalled") && createIntent.suspectIds !== undefined),
          }
        : undefined,
    wish: wishOf(resource),
  };
}

/** The claim of a resource that is gone, on the endpoint that its create made and that the operator will delete. */
export function claimOfGone(key: ResourceKey, uid: string, endpointId: string): Claim {
  return { key, uid, creationTimestamp: "", ownedEndpointId: endpointId, openCreate: undefined, wish: undefined };
}

/** Whether an open create may have made the endpoint. */
export function mayHaveMade(intent: CreateIntent, endpoint: ObservedEndpoint): boolean {
  const fits = endpoint.branchId === intent.branchId && endpoint.type === intent.type;
  return (fits && !intent.preIds.includes(endpoint.id)) || (intent.suspectIds ?? []).includes(endpoint.id);
}

function recordedEndpointId(resource: ComputeEndpoint, identity: Identity): string | undefined {
  const { ownership } = resource.status;
  const isCopied =
    ownership !== undefined && (ownership.resourceUid !== resource.uid || ownership.clusterId !== identity.clusterId);
  return isCopied ? undefined : resource.claimed.endpointId;
}

function wishOf(resource: ComputeEndpoint): ComputeEndpointSpec | undefined {
  const mayAsk = !isBeingDeleted(resource) && !isPaused(resource) && !isTrue(resource.status.conditions, "Stalled");
  return mayAsk && resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
}

function adopts({ adoption, type, branchId }: ComputeEndpointSpec, endpoint: ObservedEndpoint): boolean {
  if (adoption === undefined || adoption.policy === "Never") {
    return false;
  }
  return adoption.endpointId === undefined
    ? type === "ReadWrite" && endpoint.type === "ReadWrite" && branchId === endpoint.branchId
    : adoption.endpointId === endpoint.id;
}

type Aged = Pick<ComputeEndpoint, "creationTimestamp" | "uid">;

function isElder(a: Aged, b: Aged): boolean {
  return a.creationTimestamp === b.creationTimestamp ? a.uid < b.uid : a.creationTimestamp < b.creationTimestamp;
}

function isUnresolvedAt({ openCreate }: Claim, branchId: string, type: CreateIntent["type"]): boolean {
  return (
    openCreate !== undefined &&
    openCreate.posts === "Unresolved" &&
    !openCreate.isHeld &&
    openCreate.intent.branchId === branchId &&
    openCreate.intent.type === type
  );
}
