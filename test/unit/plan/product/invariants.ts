import type { Observation } from "../../../../src/plan/observation.ts";
import type { Plan } from "../../../../src/plan/plan.ts";
import { planReconcile } from "../../../../src/plan/plan-reconcile.ts";
import { policy, timeAt } from "../builders.ts";
import type { Factors } from "./factors.ts";
import { answeredId, candidateId } from "./given.ts";

/** One case of the product. */
export interface Case {
  readonly factors: Factors;
  readonly given: Observation;
  readonly plan: Plan;
}

/** A rule that every plan keeps: answers what is wrong, or nothing. It knows the factors, not how the planner works. */
export type Invariant = (of: Case) => string | false;

const isDeleting = ({ deletion }: Factors) => deletion !== "None";
const isOwned = ({ ownership }: Factors) => !["None", "Unreadable"].includes(ownership);
const isIdentityProven = ({ ownership }: Factors) => ownership !== "Foreign" && ownership !== "Unreadable";
const isEffect = ({ kind }: Plan) =>
  ["CreateEndpoint", "UpdateEndpoint", "MoveEndpoint", "DeleteEndpoint", "RecordIntent", "RecordOwnership"].includes(
    kind,
  );
const isCreating = (plan: Plan) => plan.kind === "CreateEndpoint" || plan.kind === "RecordIntent";

/** Whether the other endpoint may be what our open create made, and nobody can tell. */
const isSuspect = ({ candidate, echoesNames, claims }: Factors) =>
  candidate === "Nameless" && !echoesNames && claims !== "Owner";

/** S1 */
const changesOnlyWhatIsOurs: Invariant = ({ factors, plan }) => {
  if (plan.kind === "DeleteEndpoint" && plan.cause === "Duplicate") {
    const isTwin = factors.candidate === "OwnToken" && factors.claims !== "Owner" && isOwned(factors);
    return (
      !(isTwin && isIdentityProven(factors) && plan.endpointId === candidateId) && "deletes what is no twin of ours"
    );
  }
  const isChange = plan.kind === "UpdateEndpoint" || plan.kind === "MoveEndpoint" || plan.kind === "DeleteEndpoint";
  const isOurs = isChange && plan.endpointId === "ep-own-1" && isOwned(factors) && isIdentityProven(factors);
  return isChange && !isOurs && "changes an endpoint that is not ours";
};

/** S1, S4 */
const deletesOnlyWhenAsked: Invariant = ({ factors, plan }) => {
  if (plan.kind !== "DeleteEndpoint" || plan.cause !== "Deletion") {
    return false;
  }
  const isWanted = factors.deletion === "Delete" || (factors.deletion === "Default" && factors.ownership === "Created");
  return !isWanted && "deletes an endpoint that was to stay";
};

/** S2 */
const createsOnlyUnderItsIntent: Invariant = ({ factors, given, plan }) => {
  if (plan.kind !== "CreateEndpoint") {
    return false;
  }
  const isUnderStoredIntent =
    factors.intent === "Open" && plan.intent.attempt === given.resource.status.createIntent?.attempt;
  const isAllowed =
    isUnderStoredIntent &&
    !isOwned(factors) &&
    !isDeleting(factors) &&
    !factors.isAnswered &&
    factors.isCreateTurn &&
    factors.isIntentFresh &&
    factors.spec === "Fits" &&
    factors.resolution !== "Abandon" &&
    !(factors.candidate === "OwnToken" && factors.claims !== "Owner");
  return !isAllowed && "creates where it must not";
};

/** S2: a replica is never posted again while anything may still be, or come to be, ours. */
const repeatsNoReplicaInDoubt: Invariant = ({ factors, plan }) => {
  const isOpenQuestion = factors.intent === "Open" && factors.type === "ReadOnly" && factors.posts === "Unresolved";
  const isInDoubt = isOpenQuestion && (!factors.isSettled || isSuspect(factors));
  return isInDoubt && isCreating(plan) && "posts a replica again in doubt";
};

/** S2: an intent with a post in doubt is never replaced by a new one, nor closed before the settle time. */
const keepsOpenQuestions: Invariant = ({ factors, given, plan }) => {
  if (factors.intent !== "Open" || factors.posts !== "Unresolved") {
    return false;
  }
  const isReplaced =
    plan.kind === "RecordIntent" && plan.intent.attempt !== given.resource.status.createIntent?.attempt;
  const isForgotten = plan.kind === "CloseIntent" && plan.cause !== "Abandoned" && !factors.isSettled;
  return (isReplaced || isForgotten) && "drops an intent whose post may still land";
};

/** S3 */
const takesOnlyWhatIsFree: Invariant = ({ factors, plan }) => {
  if (plan.kind !== "RecordOwnership") {
    return false;
  }
  const { endpointId, origin } = plan.ownership;
  if (endpointId === answeredId) {
    return !(factors.isAnswered && origin === "Created") && "records an answer that never came";
  }
  // Without a claim there is no sibling: its endpoint was retained, and may be adopted.
  const isOthers = factors.claims === "Owner" || (factors.candidate === "SiblingToken" && factors.claims !== "None");
  const reasons = {
    Created: factors.candidate === "OwnToken",
    Presumed:
      factors.type === "ReadWrite" && factors.posts === "Unresolved" && factors.intent === "Open" && isSuspect(factors),
    Adopted:
      factors.resolution === "Adopt" ||
      (factors.intent === "None" &&
        factors.adoption !== "None" &&
        (factors.claims === "None" || factors.type === "ReadOnly")),
  };
  // An open create of a sibling may have made whatever is no proven own one.
  const isContested = factors.claims === "Intent" && origin === "Adopted" && factors.intent === "None";
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
const releasesOnlyWhenDone: Invariant = ({ factors, given, plan }) => {
  if (plan.kind !== "RemoveFinalizer") {
    return false;
  }
  const { intent, ownership, deletion, remote, isAnswered } = factors;
  const isLent = ownership === "Adopted" || ownership === "Presumed";
  const isRetained = deletion === "Retain" || (deletion === "Default" && isLent);
  const reasons = {
    Retained: isRetained,
    Gone: isOwned(factors) && remote === "Absent",
    NeverCreated: !isOwned(factors) && intent === "None",
  };
  const isOpenEnded =
    intent === "Open" && (deletion !== "Retain" || plan.abandoned !== given.resource.status.createIntent);
  const isLost = isAnswered && !isOwned(factors);
  const isAllowed = isDeleting(factors) && factors.hasFinalizer && reasons[plan.cause] && !isOpenEnded && !isLost;
  return !isAllowed && "lets the finalizer go too early";
};

const touchesNothingWhilePaused: Invariant = ({ factors, plan }) => {
  const isBystander = plan.kind === "Settled" && isDeleting(factors) && !factors.hasFinalizer;
  const isQuiet = isBystander || (plan.kind === "Wait" && plan.reason === "Paused");
  return factors.isPaused && !isQuiet && "acts while paused";
};

const touchesNothingUnproven: Invariant = ({ factors, plan }) => {
  const isRetain = plan.kind === "RemoveFinalizer" && plan.cause === "Retained" && factors.deletion === "Retain";
  const isQuiet = plan.kind === "Wait" || plan.kind === "Settled" || plan.kind === "Stall" || isRetain;
  return !isIdentityProven(factors) && !isQuiet && "acts on a record that is not its own";
};

const effectsNeedTheFinalizer: Invariant = ({ factors, plan }) =>
  isEffect(plan) && !factors.hasFinalizer && "acts without its finalizer";

const leavesBrokenSpecsAlone: Invariant = ({ factors, plan }) =>
  factors.spec === "Broken" &&
  !isDeleting(factors) &&
  (isEffect(plan) || plan.kind === "Settled") &&
  "acts on a broken spec";

/** S8 */
const settlesOnlyWhenItMatches: Invariant = ({ factors, plan }) => {
  if (plan.kind !== "Settled" || isDeleting(factors)) {
    return false;
  }
  const isMatching = factors.remote === "Matches" || factors.remote === "Unverifiable";
  const isDone = isOwned(factors) && isMatching && factors.spec === "Fits" && !factors.isOwnOperationInFlight;
  return !isDone && "calls settled what is not";
};

/** S10: the wall clock alone never makes a create of a replica out of anything else. */
const timeAloneCreatesNothing: Invariant = ({ factors, given, plan }) => {
  const isOpenQuestion = factors.intent === "Open" && factors.type === "ReadOnly" && factors.posts === "Unresolved";
  if (!isOpenQuestion || isCreating(plan)) {
    return false;
  }
  const later = [timeAt(-86_400_000), timeAt(61_000), timeAt(86_400_000)].map((time) =>
    planReconcile({ ...given, nowMs: Date.parse(time) }, policy),
  );
  return later.some(isCreating) && "creates because time has passed";
};

/** All of them, by name. */
export const invariants: Readonly<Record<string, Invariant>> = {
  "S1 changes only what is ours": changesOnlyWhatIsOurs,
  "S1 deletes only when asked": deletesOnlyWhenAsked,
  "S2 creates only under its stored intent": createsOnlyUnderItsIntent,
  "S2 repeats no replica in doubt": repeatsNoReplicaInDoubt,
  "S2 keeps open questions": keepsOpenQuestions,
  "S3 takes only what is free": takesOnlyWhatIsFree,
  "S3 forgets only what is gone": forgetsOnlyWhatIsGone,
  "S4 releases only when done": releasesOnlyWhenDone,
  "paused: touches nothing": touchesNothingWhilePaused,
  "identity unproven: touches nothing": touchesNothingUnproven,
  "effects need the finalizer": effectsNeedTheFinalizer,
  "broken spec: touches nothing": leavesBrokenSpecsAlone,
  "S8 settles only when it matches": settlesOnlyWhenItMatches,
  "S10 time alone creates nothing": timeAloneCreatesNothing,
};
