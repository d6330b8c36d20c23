/** Decides whether a Stalled condition is true. */
import { world as places } from "../control-plane/engine.ts";
import type { StoredObject } from "../kubernetes/answers.ts";
import { isObject, type JsonObject } from "../kubernetes/merge-patch.ts";
import type { SentPost } from "../run/history.ts";
import { conditionOf } from "../run/settled.ts";
import { isGranted } from "../run/stored-planes.ts";
import { isObserved, ownershipOf, specOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import { isPlaneElsewhere, isPlaneMissing, isPlaneWithoutKey } from "./planes.ts";

type Judge = (world: World, resource: StoredObject) => boolean;

const branches: readonly unknown[] = [...places.branches, ...places.freeBranches];

const hasOtherOnBranch: Judge = (world, resource) => {
  const { branchId } = specOf(resource);
  const ownId = ownershipOf(resource)?.endpointId;
  return world.endpoints().some((endpoint) => endpoint.branchId === branchId && endpoint.id !== ownId);
};

const hasRival: Judge = (world, resource) => {
  const { branchId, projectId } = specOf(resource);
  return world.resources().some((other) => {
    const isOther = other.metadata.uid !== resource.metadata.uid;
    return (
      isOther &&
      (specOf(other).branchId === branchId ||
        hasIntentOn(other, branchId) ||
        ownershipOf(other)?.endpointId !== undefined) &&
      specOf(other).projectId === projectId
    );
  });
};

/**
 * Whether a resource holds the branch by a create without an answer. That is so even after its spec names another
 * branch, or it was paused.
 */
const hasIntentOn = ({ status }: StoredObject, branchId: unknown): boolean =>
  isObject(status) && intentRecordOf(status).branchId === branchId;

const intentRecordOf = ({ createIntent }: JsonObject): JsonObject => (isObject(createIntent) ? createIntent : {});

const hasUnknownCreate: Judge = (world, resource) =>
  world.history.posts.some(
    (post) =>
      post.uid === resource.metadata.uid &&
      (post.knownAs !== "NotApplied" || isRefusalForgotten(world, post, resource)) &&
      !(post.endpointId !== undefined && world.history.recordedIds.get(post.uid)?.has(post.endpointId)),
  );

/**
 * Whether the process that knew of the refusal died before it closed the intent, or forgot the project. Later it cannot
 * know of the refusal.
 */
const isRefusalForgotten = ({ options }: World, { sent }: SentPost, { status }: StoredObject): boolean =>
  (sent.process.isDead || options.amnesia !== undefined) &&
  sent.creator.by === "Operator" &&
  isObject(status) &&
  intentRecordOf(status).attempt === sent.creator.attempt;

/**
 * Whether a process died between the intent and its POST, or forgot the project then. Later it cannot know that no POST
 * was sent.
 */
const hasUnsentIntent: Judge = ({ history, options }, { metadata }) =>
  (history.deaths > 0 || options.amnesia !== undefined) &&
  history.intents.some(
    ({ uid, attempt }) =>
      uid === metadata.uid &&
      !history.posts.some(({ sent: { creator } }) => creator.by === "Operator" && creator.attempt === attempt),
  );

const mayAdopt: Judge = (_, resource) => specOf(resource).adoption !== undefined || isTakenOver(resource);

const isOtherClusterOnBranch: Judge = (world, resource) =>
  world
    .endpoints()
    .some(
      ({ id, branchId }) =>
        branchId === specOf(resource).branchId && world.controlPlane.creators.get(id)?.by === "OtherCluster",
    );

const isTakenOver = (resource: StoredObject): boolean => {
  const origin = ownershipOf(resource)?.origin;
  return origin === "Adopted" || origin === "Presumed";
};

const isRefusable: Judge = (world, resource) => {
  const { projectId, type, compute, suspend } = specOf(resource) as Readonly<
    Record<string, { readonly [field: string]: unknown }>
  >;
  const maxUnits = Number(compute?.maxUnits ?? 0.25);
  const minUnits = Number(compute?.minUnits ?? 0.25);
  const seconds = Number(suspend?.afterSeconds ?? 0);
  const isFree = (projectId as unknown) === places.freeProject;
  const isTooShort = world.controlPlane.echoesNames && seconds > 0 && seconds < 60;
  const isTooLarge = world.controlPlane.echoesNames ? maxUnits - minUnits > 8 || maxUnits > 16 : maxUnits > 8;
  return isTooShort || isTooLarge || (isFree && ((type as unknown) === "ReadOnly" || maxUnits !== 0.25));
};

/**
 * Whether the resource waits for an endpoint that cannot be parsed. Long after the last fault, every endpoint can be
 * parsed.
 */
const waitsForUnreadable = (resource: StoredObject): boolean =>
  /an entry without an id/.test(String(conditionOf(resource, "Stalled")?.message));

/**
 * The cases in which each reason can be true. A reason that is missing here can never be true long after the last
 * fault.
 */
const judges: Readonly<Record<string, { readonly isTrue: Judge; readonly otherwise: string }>> = {
  EndpointExists: { isTrue: hasOtherOnBranch, otherwise: "no other endpoint is on its branch" },
  BranchOccupied: { isTrue: hasOtherOnBranch, otherwise: "no other endpoint is on its branch" },
  ClaimedByAnother: {
    isTrue: hasRival,
    otherwise: "no other resource names its branch",
  },
  OwnershipConflict: { isTrue: hasRival, otherwise: "no other resource names its endpoint" },
  CreateAmbiguous: {
    isTrue: (world, resource) =>
      !waitsForUnreadable(resource) && (hasUnknownCreate(world, resource) || hasUnsentIntent(world, resource)),
    otherwise: "every create of it had a known outcome, and every endpoint can be parsed",
  },
  AdoptionMismatch: { isTrue: mayAdopt, otherwise: "it does not adopt" },
  AdoptionTargetMissing: {
    isTrue: (world, resource) => mayAdopt(world, resource) || isObserved(resource),
    otherwise: "it does not adopt",
  },
  EndpointGone: { isTrue: mayAdopt, otherwise: "it has adopted nothing" },
  OwnedElsewhere: {
    isTrue: (world, resource) => mayAdopt(world, resource) || isOtherClusterOnBranch(world, resource),
    otherwise: "it does not adopt, and no other cluster has made an endpoint on its branch",
  },
  BranchNotFound: {
    isTrue: (_, resource) => !branches.includes(specOf(resource).branchId),
    otherwise: "its branch is there",
  },
  ProjectNotFound: {
    isTrue: (world, resource) => !world.projectIds.includes(String(specOf(resource).projectId)),
    otherwise: "its project is there",
  },
  Rejected: { isTrue: isRefusable, otherwise: "the control plane takes such a spec" },
  InvalidSpec: { isTrue: isRefusable, otherwise: "its spec is valid" },
  IdentityUnproven: {
    isTrue: (world, resource) => world.history.robbed.has(resource.metadata.uid) || isPlaneElsewhere(world, resource),
    otherwise: "its records were never touched",
  },
  ControlPlaneNotFound: { isTrue: isPlaneMissing, otherwise: "its control plane is there" },
  ControlPlaneNotReady: {
    isTrue: (world, resource) => isPlaneWithoutKey(world, resource),
    otherwise: "its control plane has a key",
  },
  ProjectNotGranted: {
    isTrue: (world, resource) => !isGranted(world, resource),
    otherwise: "its namespace has a grant",
  },
};

/**
 * Judges a reason.
 * @returns why it cannot be true now; `undefined`: it can be true
 */
export function whyNotJustified(world: World, resource: StoredObject, reason: string): string | undefined {
  const judge = judges[reason];
  if (judge === undefined) return "that reason cannot hold once faults have ended";
  return judge.isTrue(world, resource) ? undefined : judge.otherwise;
}
