/** The claims of a project's resources, and which of two competing resources comes first. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import { type ComputeEndpoint, isBeingDeleted, isPaused } from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { CreateIntent } from "../resource/status-schema.ts";
import { type Identity, ownershipToken } from "./identity.ts";

/** A claim: the endpoint that one resource of the project owns, and the endpoint that it asks for. */
export interface Claim {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly creationTimestamp: string;
  /**
   * The id of the endpoint that the resource's records, or an answer not yet stored, name. `undefined`: there is none,
   * or the record was copied from another resource or cluster.
   */
  readonly ownedEndpointId: string | undefined;
  readonly openCreate: OpenCreate | undefined;
  /**
   * The valid spec of the resource. `undefined`: the resource asks for nothing, because it is Stalled, paused, invalid
   * or being deleted.
   */
  readonly wish: ComputeEndpointSpec | undefined;
  /** True: the resource no longer exists, and the operator is going to delete its endpoint. @default false */
  readonly isGone?: boolean;
}

/**
 * What this process knows about the POSTs of one intent.
 * `NoneSent`: this process stored the intent and sent nothing. `AllRefused`: each POST was refused or never left this
 * process, so none took effect. `Unresolved`: the result of a POST is unknown, or an earlier process may have sent one.
 */
export type PostState = "NoneSent" | "AllRefused" | "Unresolved";

/** A create whose intent is stored and whose result is not. `posts` says whether a POST may have been sent. */
export interface OpenCreate {
  readonly intent: CreateIntent;
  readonly posts: PostState;
  /**
   * True: the create goes on only after a person acts, because the resource is paused or Stalled with suspects in the
   * intent.
   */
  readonly isHeld: boolean;
}

/** What the operator knows about a resource and has not stored in the resource yet. */
interface UnstoredFacts {
  /** The id of the endpoint that an answered create made and that status does not name yet. */
  readonly answeredEndpointId: string | undefined;
  readonly posts: PostState;
}

/**
 * The claims of all resources of one project, for one reconcile.
 *
 * A resource never competes with itself: each method takes the uid of the asking resource and leaves that resource out.
 */
export class ProjectClaims {
  readonly #claims: readonly Claim[];
  readonly #identity: Identity;
  readonly #byOwnedId: ReadonlyMap<string, readonly Claim[]>;
  #byToken: ReadonlyMap<string, Claim> | undefined;

  /** @param claims the claims of every resource of the project */
  constructor(claims: readonly Claim[], identity: Identity) {
    this.#claims = claims;
    this.#identity = identity;
    this.#byOwnedId = Map.groupBy(
      claims.filter(({ ownedEndpointId }) => ownedEndpointId !== undefined),
      ({ ownedEndpointId }) => ownedEndpointId ?? "",
    );
  }

  /** Finds another resource that owns the endpoint. */
  ownerOf(endpointId: string, selfUid: string): Claim | undefined {
    return this.#byOwnedId.get(endpointId)?.find(({ uid }) => uid !== selfUid);
  }

  /** Finds another resource whose token stands in the endpoint's name. */
  creatorByToken(token: string, selfUid: string): Claim | undefined {
    this.#byToken ??= new Map(
      this.#claims.map((claim) => [ownershipToken(this.#identity.clusterId, claim.uid), claim]),
    );
    const claim = this.#byToken.get(token);
    return claim?.uid === selfUid ? undefined : claim;
  }

  /** Finds another resource whose open create may have made the endpoint. */
  possibleCreatorOf(endpoint: ObservedEndpoint, selfUid: string): Claim | undefined {
    return this.#claims.find(
      ({ uid, openCreate }) => uid !== selfUid && openCreate !== undefined && mayHaveMade(openCreate.intent, endpoint),
    );
  }

  /**
   * Finds another resource that has an unresolved create on the same branch and of the same type. A create that only a
   * person can resolve does not count.
   *
   * If both resources have an open create, only the younger one waits for the older one; otherwise each would wait for
   * the other for ever.
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

  /**
   * Finds another resource that has the better claim to the one read-write endpoint of a branch. A resource with an
   * open create comes first, then the oldest resource that asks for the endpoint, if it is older than this one.
   */
  rivalForBranch(branchId: string, self: ComputeEndpoint): Claim | undefined {
    const withIntent = this.#claims.find(
      ({ uid, openCreate }) =>
        uid !== self.uid && openCreate?.intent.branchId === branchId && openCreate.intent.type === "ReadWrite",
    );
    return withIntent ?? this.#elder(self, (wish) => wish.branchId === branchId && wish.type === "ReadWrite");
  }

  /** Finds an older resource that asks to adopt the same endpoint and owns none yet. */
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
 * Returns the claim of a resource. A record that was made for another uid or in another cluster claims nothing. A
 * record that cannot be parsed still claims the endpoint that it names.
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

/**
 * Whether a resource may claim an endpoint at this URL. A record that cannot be parsed may claim one at any URL. So may
 * a resource without records: if its status was lost, it claims the endpoint whose name carries its token. Pure.
 */
export function mayClaimAt(serviceUrl: string, { status, isOwnershipReadable }: ComputeEndpoint): boolean {
  const records = [status.ownership, status.createIntent].filter((record) => record !== undefined);
  return !isOwnershipReadable || records.length === 0 || records.some((record) => record.serviceUrl === serviceUrl);
}

/**
 * Returns the claim of a deleted resource on the endpoint that its create made. The operator is going to delete that
 * endpoint.
 */
export function claimOfGone(key: ResourceKey, uid: string, endpointId: string): Claim {
  const nothing = { creationTimestamp: "", openCreate: undefined, wish: undefined };
  return { key, uid, ownedEndpointId: endpointId, isGone: true, ...nothing };
}

/** Whether the open create of an intent may have made the endpoint. */
function mayHaveMade(intent: CreateIntent, endpoint: ObservedEndpoint): boolean {
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

function adopts(wish: ComputeEndpointSpec, endpoint: ObservedEndpoint): boolean {
  const wantedId = wish.adoption?.endpointId;
  const isWanted =
    wantedId === undefined
      ? wish.type === "ReadWrite" && endpoint.type === "ReadWrite" && wish.branchId === endpoint.branchId
      : wantedId === endpoint.id;
  return hasConsent(wish) && isWanted;
}

/** Whether spec allows the resource to adopt an endpoint. */
export function hasConsent({ adoption }: ComputeEndpointSpec): boolean {
  return adoption !== undefined && adoption.policy !== "Never";
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
