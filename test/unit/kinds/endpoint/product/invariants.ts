/** The rules that every plan must keep. */
import type { Observation, Plan } from "../../../../../src/kinds/endpoint/plan.ts";
import { nowMs, planFor } from "../builders.ts";
import type { Factors } from "./factors.ts";
import { answeredId } from "./given.ts";

/** One case of the product. */
export interface Case {
  readonly factors: Factors;
  readonly given: Observation;
  readonly plan: Plan;
}

/**
 * A rule that every plan must follow. It returns what is wrong, or false. It knows the factors, and not how the planner
 * works.
 */
export type Invariant = (of: Case) => string | false;

const isDeleting = ({ deletion }: Factors) => deletion !== "None";
const isOwned = ({ ownership }: Factors) => !["None", "Unreadable"].includes(ownership);
const isIdentityProven = ({ ownership }: Factors) => ownership !== "Foreign" && ownership !== "Unreadable";
const isEffect = ({ kind }: Plan) =>
  ["CreateEndpoint", "UpdateEndpoint", "MoveEndpoint", "DeleteEndpoint", "RecordOwnership"].includes(kind);
const isCreating = (plan: Plan) => plan.kind === "CreateEndpoint";

/** Whether our open create may have made the other endpoint, but nothing shows whether it did. */
const isSuspect = ({ candidate, echoesNames, claims }: Factors) =>
  candidate === "Nameless" && !echoesNames && claims !== "Owner";

const ownId = "ep-own-1";

/** S1: an endpoint that carries our token without a record is not changed either. */
const changesOnlyWhatIsOurs: Invariant = ({ factors, plan }) => {
  const isChange = plan.kind === "UpdateEndpoint" || plan.kind === "MoveEndpoint" || plan.kind === "DeleteEndpoint";
  const isOurs = isChange && plan.endpointId === ownId && isOwned(factors) && isIdentityProven(factors);
  return isChange && !isOurs && "changes an endpoint that is not ours";
};

/** S3: two valid records of one endpoint. */
const leavesConflictsAlone: Invariant = ({ factors, plan }) => {
  const isConflict = factors.claims === "OwnsOurs" && isOwned(factors);
  const isChange = ["UpdateEndpoint", "MoveEndpoint", "DeleteEndpoint", "ForgetEndpoint"].includes(plan.kind);
  return isConflict && isChange && "changes an endpoint that another resource owns too";
};

/** S1, S4 */
const deletesOnlyWhenAsked: Invariant = ({ factors, plan }) => {
  if (plan.kind !== "DeleteEndpoint") {
    return false;
  }
  const isWanted = factors.deletion === "Delete" || (factors.deletion === "Default" && factors.ownership === "Created");
  return !isWanted && "deletes an endpoint that was to stay";
};

/** S2: there is no create while an earlier POST may still take effect, or while an endpoint may come from that POST. */
const createsOnlyWhenNothingIsInDoubt: Invariant = ({ factors, given, plan }) => {
  if (plan.kind !== "CreateEndpoint") {
    return false;
  }
  const stored = given.resource.status.createIntent;
  // Under an intent with an unresolved POST even a refusal would leave the result unknown.
  const isUnderCleanIntent = plan.intent.attempt !== stored?.attempt || factors.posts === "Refused";
  const isInDoubt = factors.intent === "Open" && factors.posts === "Unresolved" && !factors.isSettled;
  const isOwnTokenFree = factors.candidate === "OwnToken" && factors.claims !== "Owner";
  const isAllowed =
    isUnderCleanIntent &&
    !isInDoubt &&
    !isOwnTokenFree &&
    !isOwned(factors) &&
    !isDeleting(factors) &&
    factors.posts !== "Answered" &&
    factors.resolution !== "Abandon" &&
    factors.spec !== "Broken";
  return !isAllowed && "creates where it must not";
};

/**
 * S2: while the result of its POST is unknown, an intent is not replaced by a new one. It is not closed before the
 * settle time either.
 */
const keepsOpenQuestions: Invariant = ({ factors, given, plan }) => {
  if (factors.intent !== "Open" || factors.posts !== "Unresolved" || factors.isSettled) {
    return false;
  }
  const isReplaced =
    plan.kind === "CreateEndpoint" && plan.intent.attempt !== given.resource.status.createIntent?.attempt;
  const isForgotten = plan.kind === "CloseIntent" && plan.cause !== "Abandoned";
  return (isReplaced || isForgotten) && "drops an intent whose POST may still take effect";
};

/** S3 */
const takesOnlyWhatIsFree: Invariant = ({ factors, plan }) => {
  if (plan.kind !== "RecordOwnership") {
    return false;
  }
  const { endpointId, origin } = plan.ownership;
  if (endpointId === answeredId) {
    return !(factors.posts === "Answered" && origin === "Created") && "records an answer that never came";
  }
  // Without a claim, the resource that the token names is gone. Its endpoint was retained, and may be adopted.
  const isOthers = factors.claims === "Owner" || (factors.candidate === "SiblingToken" && factors.claims !== "None");
  const reasons = {
    Created: factors.candidate === "OwnToken",
    Presumed:
      factors.type === "ReadWrite" &&
      factors.posts === "Unresolved" &&
      factors.isSettled &&
      factors.intent === "Open" &&
      isSuspect(factors),
    Adopted:
      factors.resolution === "Adopt" ||
      (factors.intent === "None" &&
        factors.adoption !== "None" &&
        (factors.candidate !== "OtherCluster" || factors.isTakeOver) &&
        (factors.claims !== "Elder" || factors.type === "ReadOnly")),
  };
  // If another resource has an open create, an endpoint without a name may come from that create.
  const isContested =
    factors.claims === "Intent" &&
    factors.candidate === "Nameless" &&
    origin === "Adopted" &&
    factors.intent === "None";
  return (
    (isOthers || isContested || isOwned(factors) || !reasons[origin]) && `takes an endpoint as ${origin} without right`
  );
};

/** S3 */
const forgetsOnlyWhatIsGone: Invariant = ({ factors, plan }) =>
  plan.kind === "ForgetEndpoint" &&
  !(factors.remote === "Absent" && isOwned(factors) && factors.ownership !== "Adopted" && !isDeleting(factors)) &&
  "forgets an endpoint that is not proven gone";

/** S4 */
const releasesOnlyWhenDone: Invariant = ({ factors, plan }) => {
  if (plan.kind !== "RemoveFinalizer") {
    return false;
  }
  const { intent, ownership, deletion, remote } = factors;
  const isLent = ownership === "Adopted" || ownership === "Presumed";
  const isRetained = deletion === "Retain" || (deletion === "Default" && isLent);
  const reasons = {
    Retained: isRetained,
    Gone: isOwned(factors) && remote === "Absent",
    NeverCreated: ownership === "None" && intent === "None",
    ProjectGone: false,
    Observed: false,
  };
  const isAllowed = isDeleting(factors) && factors.hasFinalizer && reasons[plan.cause];
  return !isAllowed && "lets the finalizer go too early";
};

const touchesNothingWhilePaused: Invariant = ({ factors, plan }) => {
  const isQuiet = plan.kind === "Idle" || (plan.kind === "Wait" && plan.reason === "Paused");
  return factors.isPaused && !isQuiet && "acts while paused";
};

const touchesNothingUnproven: Invariant = ({ factors, plan }) => {
  const isRetain = plan.kind === "RemoveFinalizer" && plan.cause === "Retained" && factors.deletion === "Retain";
  const isQuiet = plan.kind === "Wait" || plan.kind === "Idle" || plan.kind === "Stall" || isRetain;
  return !isIdentityProven(factors) && !isQuiet && "acts on a record that is not its own";
};

/** Another finalizer may still hold a resource that the operator has released. */
const isIdleOnlyWhenReleased: Invariant = ({ factors, plan }) =>
  (plan.kind === "Idle") === factors.hasFinalizer && "is idle before it is released, or acts after that";

/** The answer to a create is stored, whatever spec says by then. */
const leavesBrokenSpecsAlone: Invariant = ({ factors, plan }) =>
  factors.spec === "Broken" &&
  !(plan.kind === "RecordOwnership" && plan.ownership.endpointId === answeredId) &&
  !isDeleting(factors) &&
  isEffect(plan) &&
  "acts on a broken spec";

/** S8 */
const settlesOnlyWhenItMatches: Invariant = ({ factors, plan }) => {
  const isMatching = factors.remote === "Matches" || factors.remote === "Unverifiable";
  const isDone = isOwned(factors) && isMatching && factors.spec === "Fits" && !factors.isOwnOperationInFlight;
  return plan.kind === "Settled" && (isDeleting(factors) || !isDone) && "calls settled what is not";
};

/** Two read-write endpoints on one branch are impossible, and the claim to the place counts before it is taken. */
const movesOnlyToFreePlaces: Invariant = ({ factors, plan }) => {
  const isTaken = factors.candidate !== "None" || factors.claims === "Intent" || factors.claims === "Elder";
  return plan.kind === "MoveEndpoint" && factors.type === "ReadWrite" && isTaken && "moves to a place that is taken";
};

/** The answer to a create must not be lost, whatever spec says by then. */
const storesAnswersFirst: Invariant = ({ factors, plan }) => {
  const isOpen = factors.intent === "Open" && factors.posts === "Answered" && !factors.isPaused;
  const isStored = plan.kind === "RecordOwnership" && plan.ownership.endpointId === answeredId;
  return isOpen && factors.deletion !== "Retain" && !isStored && "does not store an answer";
};

/** By id is the truth: a list proves only that nothing is to be done. */
const looksBeforeItActs: Invariant = ({ factors, given, plan }) => {
  const endpointId = endpointOf(plan);
  if (factors.posts === "Answered" || (endpointId === undefined && plan.kind !== "Settled")) {
    return false;
  }
  const listed = planFor({ ...given, project: { ...given.project, readsById: new Set() } });
  const isRead = listed.kind === "Look" && listed.at === "Endpoint" && listed.endpointId === endpointId;
  return !(plan.kind === "Settled" ? listed.kind === "Settled" : isRead) && "acts on what only a list shows";
};

/** The endpoint that a plan changes, records, or takes for gone. */
function endpointOf(plan: Plan): string | undefined {
  switch (plan.kind) {
    case "UpdateEndpoint":
    case "MoveEndpoint":
    case "DeleteEndpoint":
    case "ForgetEndpoint":
      return plan.endpointId;
    case "RecordOwnership":
      return plan.ownership.endpointId;
    case "RemoveFinalizer":
      return plan.cause === "Gone" ? ownId : undefined;
    default:
      return undefined;
  }
}

/** L2: a deletion without work in the control plane ends at once, whatever else is wrong. */
const releasesAtOnce: Invariant = ({ factors, plan }) => {
  const isWithoutWork = factors.deletion === "Retain" || (factors.ownership === "None" && factors.intent === "None");
  const isDue = isDeleting(factors) && factors.hasFinalizer && !factors.isPaused && isWithoutWork;
  return isDue && plan.kind !== "RemoveFinalizer" && "holds up a deletion that has nothing to do";
};

const otherTimesMs = [-86_400_000, 61_000, 86_400_000].map((offsetMs) => nowMs + offsetMs);

/** S10: a change of the wall clock alone never leads to a create. */
const timeAloneCreatesNothing: Invariant = ({ factors, given, plan }) => {
  const isOpenQuestion = factors.intent === "Open" && factors.posts === "Unresolved";
  if (!isOpenQuestion || isCreating(plan)) {
    return false;
  }
  const decisions = otherTimesMs.map((otherMs) => planFor({ ...given, nowMs: otherMs }));
  return decisions.some(isCreating) && "creates because time has passed";
};

/** All of them, by name. */
export const invariants: Readonly<Record<string, Invariant>> = {
  "S1 changes only what is ours": changesOnlyWhatIsOurs,
  "S1 deletes only when asked": deletesOnlyWhenAsked,
  "S2 creates only when nothing is in doubt": createsOnlyWhenNothingIsInDoubt,
  "S2 keeps open questions": keepsOpenQuestions,
  "S3 leaves conflicts alone": leavesConflictsAlone,
  "S3 takes only what is free": takesOnlyWhatIsFree,
  "S3 forgets only what is gone": forgetsOnlyWhatIsGone,
  "S3 moves only to free places": movesOnlyToFreePlaces,
  "S2 stores answers first": storesAnswersFirst,
  "S4 releases only when done": releasesOnlyWhenDone,
  "paused: touches nothing": touchesNothingWhilePaused,
  "identity unproven: touches nothing": touchesNothingUnproven,
  "idle only when released": isIdleOnlyWhenReleased,
  "broken spec: touches nothing": leavesBrokenSpecsAlone,
  "by id is the truth": looksBeforeItActs,
  "L2 releases at once what has nothing to do": releasesAtOnce,
  "S8 settles only when it matches": settlesOnlyWhenItMatches,
  "S10 time alone creates nothing": timeAloneCreatesNothing,
};
