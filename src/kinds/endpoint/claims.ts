/** The claims of a project's resources, and which of two competing resources comes first. */
import type { ObservedEndpoint } from "../../domain/endpoint.ts";
import { type BranchPlace, byId } from "../../resource/branch-place.ts";
import { type ComputeEndpoint, isObserved } from "../../resource/compute-endpoint.ts";
import { isTrue } from "../../resource/conditions.ts";
import { type Identity, isIntentOf, ownershipToken } from "../../resource/identity.ts";
import type { PlacedSpec } from "../../resource/spec-schema.ts";
import type { CreateIntent } from "../../resource/status-schema.ts";
import { isBeingDeleted, isPaused } from "../../resource/stored-object.ts";

export interface Claim extends Pick<ComputeEndpoint, "key" | "uid" | "creationTimestamp"> {
  /**
   * The id of the endpoint that the resource's record names. `undefined`: there is none, or the record was copied from
   * another resource or cluster.
   */
  readonly ownedEndpointId: string | undefined;
  /** The intent of the resource, if it was made for this resource: the create has no result yet. */
  readonly intent: CreateIntent | undefined;
  /**
   * The valid spec of the resource. `undefined`: the resource asks for nothing, because it is Stalled, paused, invalid,
   * being deleted, or only observes.
   */
  readonly wanted: PlacedSpec | undefined;
}

/** The claims of all resources of one project. Each method leaves out the asking resource. */
export class ProjectClaims {
  readonly #claims: readonly Claim[];
  readonly #identity: Identity;
  readonly #byOwnedId: ReadonlyMap<string | undefined, readonly Claim[]>;
  #byToken: ReadonlyMap<string, Claim> | undefined;

  constructor(claims: readonly Claim[], identity: Identity) {
    this.#claims = claims;
    this.#identity = identity;
    this.#byOwnedId = Map.groupBy(claims, ({ ownedEndpointId }) => ownedEndpointId);
  }

  ownerOf(endpointId: string, selfUid: string): Claim | undefined {
    return this.#byOwnedId.get(endpointId)?.find(({ uid }) => uid !== selfUid);
  }

  creatorByToken(token: string, selfUid: string): Claim | undefined {
    this.#byToken ??= new Map(
      this.#claims.map((claim) => [ownershipToken(this.#identity.clusterId, claim.uid), claim]),
    );
    const claim = this.#byToken.get(token);
    return claim?.uid === selfUid ? undefined : claim;
  }

  possibleCreatorOf(endpoint: ObservedEndpoint, selfUid: string): Claim | undefined {
    return this.#claims.find(
      ({ uid, intent }) => uid !== selfUid && intent !== undefined && mayHaveMade(intent, endpoint),
    );
  }

  /**
   * Finds another resource that has the better claim to the one read-write endpoint of a branch. A resource with an
   * open create comes first, then the oldest resource that asks for the endpoint, if it is older than this one.
   */
  rivalForBranch(branchId: string, self: ComputeEndpoint): Claim | undefined {
    const withIntent = this.#claims.find(
      ({ uid, intent }) => uid !== self.uid && intent?.branchId === branchId && intent.type === "ReadWrite",
    );
    return withIntent ?? this.#elder(self, (wanted) => wanted.branchId === branchId && wanted.type === "ReadWrite");
  }

  rivalForAdoption(endpoint: ObservedEndpoint, self: ComputeEndpoint): Claim | undefined {
    return this.#elder(self, (wanted, claim) => claim.ownedEndpointId === undefined && adopts(wanted, endpoint));
  }

  #elder(self: ComputeEndpoint, isRival: (wanted: PlacedSpec, claim: Claim) => boolean): Claim | undefined {
    return this.#claims
      .filter((claim) => claim.uid !== self.uid && claim.wanted !== undefined && isRival(claim.wanted, claim))
      .filter((claim) => isElder(claim, self))
      .sort((a, b) => (isElder(a, b) ? -1 : 1))
      .at(0);
  }
}

/**
 * Returns the claim of a resource. A record that was made for another uid or in another cluster claims nothing. A
 * record that cannot be parsed still claims the endpoint that it names.
 */
export function claimOf(resource: ComputeEndpoint, identity: Identity, place: BranchPlace = byId): Claim {
  const { createIntent } = resource.status;
  return {
    key: resource.key,
    uid: resource.uid,
    creationTimestamp: resource.creationTimestamp,
    ownedEndpointId: recordedEndpointId(resource, identity),
    intent: isIntentOf(resource, createIntent, identity) ? createIntent : undefined,
    wanted: wantedOf(resource, place),
  };
}

/**
 * Whether a resource may claim an endpoint at this URL. A resource without a record that can be parsed may claim one at
 * any URL. Pure.
 */
export function mayClaimAt(serviceUrl: string, { status }: ComputeEndpoint): boolean {
  const records = [status.ownership, status.createIntent].filter((record) => record !== undefined);
  return records.length === 0 || records.some((record) => record.serviceUrl === serviceUrl);
}

function mayHaveMade(intent: CreateIntent, { id, name, branchId, type }: ObservedEndpoint): boolean {
  return name === undefined && branchId === intent.branchId && type === intent.type && !intent.preIds.includes(id);
}

function recordedEndpointId(resource: ComputeEndpoint, identity: Identity): string | undefined {
  const { ownership } = resource.status;
  const isCopied =
    ownership !== undefined && (ownership.resourceUid !== resource.uid || ownership.clusterId !== identity.clusterId);
  return isCopied ? undefined : resource.claimedId;
}

function wantedOf(resource: ComputeEndpoint, place: BranchPlace): PlacedSpec | undefined {
  const isIdle = isBeingDeleted(resource) || isPaused(resource) || isObserved(resource);
  const mayAsk = !isIdle && !isTrue(resource.status.conditions, "Stalled");
  const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
  const branchId = place.kind === "Proven" ? place.branchId : spec?.branchId;
  return mayAsk && spec !== undefined && branchId !== undefined ? { ...spec, branchId } : undefined;
}

function adopts(wanted: PlacedSpec, endpoint: ObservedEndpoint): boolean {
  const wantedId = wanted.adoption?.endpointId;
  const isWanted =
    wantedId === undefined
      ? wanted.type === "ReadWrite" && endpoint.type === "ReadWrite" && wanted.branchId === endpoint.branchId
      : wantedId === endpoint.id;
  return hasConsent(wanted) && isWanted;
}

export function hasConsent({ adoption }: Pick<PlacedSpec, "adoption">): boolean {
  return adoption !== undefined && adoption.policy !== "Never";
}

type Aged = Pick<ComputeEndpoint, "creationTimestamp" | "uid">;

function isElder(a: Aged, b: Aged): boolean {
  return a.creationTimestamp === b.creationTimestamp ? a.uid < b.uid : a.creationTimestamp < b.creationTimestamp;
}
