/** Plans the next step of a resource with an open create: its intent is stored, and its result is not. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { CreateIntent } from "../resource/status-schema.ts";
import { patienceMs } from "./call-failures.ts";
import {
  type Candidates,
  candidatesOf,
  createUnder,
  isDatedAsSent,
  isForPlaceOf,
  recordOwnership,
  unrecordedOwn,
  waitForOtherCreate,
} from "./create-intent.ts";
import { ownershipToken, tokenIn } from "./identity.ts";
import type { IntentMemory, Observation } from "./observation.ts";
import { type Plan, stall } from "./plan.ts";
import { askToGiveUp, isGivenUpNow, isStalledAsAmbiguous, planTokenElsewhere } from "./plan-unowned.ts";

/** An open create. `spec` is `undefined` if the resource is being deleted, so it no longer wants an endpoint. */
interface OpenCreate {
  readonly intent: CreateIntent;
  readonly spec: ComputeEndpointSpec | undefined;
}

/**
 * Plans the next step of a resource with an open create. At most one POST of it is ever unresolved: the operator sends
 * another POST only when no earlier one can still take effect.
 */
export function planOpenCreate(situation: OpenCreate, observation: Observation): Plan {
  const { intent } = situation;
  const answer = planPersonsAnswer(observation, intent);
  if (answer !== undefined) {
    return answer;
  }
  const candidates = candidatesOf(observation, intent);
  const [own, second] = candidates.own;
  if (own !== undefined) {
    return second === undefined
      ? recordOwnership(observation, own, "Created")
      : planSeveralOwn(observation, intent, candidates.own);
  }
  const isEveryPostRefused = memoryOf(observation, intent)?.posts !== "Unresolved";
  return isEveryPostRefused
    ? planNextCreate(situation, observation, intent)
    : planUnresolved(situation, observation, candidates);
}

/**
 * Plans a stall if several endpoints carry this resource's token, so that a person chooses. The annotation value
 * `abandon=all` gives up all of them. Later searches by token then ignore them too.
 */
function planSeveralOwn(observation: Observation, intent: CreateIntent, own: readonly ObservedEndpoint[]): Plan {
  return isGivenUpNow(observation)
    ? { kind: "CloseIntent", intent, cause: "Abandoned" }
    : ambiguous(
        observation,
        own.map(({ id }) => id),
        askToGiveUp(observation),
      );
}

/** Returns what this process remembers of the intent. For an intent of an earlier process, `posts` is `Unresolved`. */
function memoryOf({ memory }: Observation, { attempt }: CreateIntent): Pick<IntentMemory, "posts"> {
  return memory.intent?.attempt === attempt ? memory.intent : { posts: "Unresolved" };
}

/**
 * Plans what follows when no earlier POST of the intent can take effect any more: the next POST, or a wait or stall
 * before it. If the resource is being deleted or spec names another branch or type, the operator closes the intent
 * instead. It does the same if the intent is for a read-write endpoint and the branch has one.
 * @param clean the stored intent, if every POST of it was refused or never sent. The next POST uses it again if it still
 *   says what is wanted. `undefined`: a POST of it had no answer, so the next POST gets a new intent. With the old one,
 *   even a refusal of the next POST would leave the result unknown.
 */
function planNextCreate({ intent, spec }: OpenCreate, observation: Observation, clean: CreateIntent | undefined): Plan {
  if (spec === undefined || !isForPlaceOf(intent, spec) || isPlaceTaken(observation, intent)) {
    return { kind: "CloseIntent", intent, cause: "NothingCreated" };
  }
  return (
    waitForOtherCreate(observation, spec) ??
    planTokenElsewhere(observation, unrecordedOwn(observation).unproven) ??
    createUnder(observation, spec, clean)
  );
}

/**
 * Whether the branch already has a read-write endpoint. A branch has at most one of them, and any number of read-only
 * endpoints.
 */
function isPlaceTaken({ project }: Observation, intent: CreateIntent): boolean {
  return (
    intent.type === "ReadWrite" &&
    [...project.endpoints.values()].some(({ branchId, type }) => branchId === intent.branchId && type === "ReadWrite")
  );
}

/** Plans the next step while a POST may have taken effect or may still take effect. */
function planUnresolved(situation: OpenCreate, observation: Observation, candidates: Candidates): Plan {
  const { intent } = situation;
  const suspects = suspectsOf(observation, intent, candidates);
  const waitMs = settleLeftMs(observation, intent);
  const [first, second] = suspects;
  const isOnlyOne = first !== undefined && second === undefined && candidates.suspects.includes(first);
  if (isOnlyOne && intent.type === "ReadWrite" && isDatedAsSent(intent, first)) {
    return recordOwnership(observation, first, "Presumed");
  }
  const unreadable = unreadableSince(observation, intent);
  const ids = [...suspects.map(({ id }) => id), ...unreadable.filter((id) => id !== "")];
  if (ids.length > 0 && (waitMs <= 0 || intent.suspectIds !== undefined)) {
    return ambiguous(
      observation,
      ids,
      `If none is, annotate it with ${annotations.resolveCreate}=abandon=${intent.attempt}.`,
    );
  }
  if (ids.length === 0 && unreadable.length > 0 && (waitMs <= -patienceMs || isStalledAsAmbiguous(observation))) {
    return stall(
      "CreateAmbiguous",
      `The answer to a create was lost, and the list of the project shows an entry without a readable id, which the create may have made. Ask the support of the control plane to correct the list. The operator then continues by itself. To give up the create, annotate the resource with ${annotations.resolveCreate}=abandon=${intent.attempt}.${retainRemedy(observation)}`,
    );
  }
  if (waitMs > 0 || unreadable.length > 0) {
    return {
      kind: "Wait",
      reason: "CreateUnresolved",
      message: "The answer to a create was lost. The operator waits until that request can no longer take effect.",
      waitMs: Math.max(waitMs, observation.policy.operationPollMs),
    };
  }
  return candidates.foreign.length > 0 && intent.type === "ReadWrite"
    ? { kind: "CloseIntent", intent, cause: "TakenByAnother" }
    : planNextCreate(situation, observation, undefined);
}

/**
 * Returns the milliseconds until a snapshot can prove that no POST can still take effect.
 * The time counts from the last POST, but not from before this process first read the intent. An earlier process may
 * have sent a POST just before that.
 */
function settleLeftMs({ memory, project, policy }: Observation, { attempt }: CreateIntent): number {
  const { intent } = memory;
  if (intent === undefined || intent.attempt !== attempt) {
    return policy.createSettleMs;
  }
  const settledAtMs = Math.max(intent.firstSeenMs, intent.lastPostMs ?? 0) + policy.createSettleMs;
  return settledAtMs - project.startedAtMs;
}

/**
 * Returns the endpoints that the lost create may have made. A recorded suspect stays until a person decides, or it is
 * gone, or another resource owns it, or its branch or type differs. If the control plane shows names, no recorded
 * suspect stays: our own endpoint would carry our token.
 */
function suspectsOf(
  { project, claims, resource }: Observation,
  intent: CreateIntent,
  { suspects }: Candidates,
): readonly ObservedEndpoint[] {
  const recorded = (project.echoesNames ? [] : (intent.suspectIds ?? []))
    .map((id) => project.endpoints.get(id))
    .filter((endpoint) => endpoint !== undefined)
    .filter(({ branchId, type }) => branchId === intent.branchId && type === intent.type)
    .filter(({ id }) => claims.ownerOf(id, resource.uid) === undefined);
  return recorded.length > 0 ? recorded : suspects;
}

/**
 * Returns ids of listed endpoints that could not be parsed, appeared after the intent and belong to no other resource.
 * Our create may have made one of them. The id "" stands for an endpoint whose id could not be read.
 */
function unreadableSince({ project, claims, resource }: Observation, { preIds }: CreateIntent): readonly string[] {
  return project.unreadableIds.filter(
    (id) => id === "" || (!preIds.includes(id) && claims.ownerOf(id, resource.uid) === undefined),
  );
}

function retainRemedy({ resource }: Observation): string {
  return isBeingDeleted(resource)
    ? " To remove this resource and leave them all, set spec.deletionPolicy to Retain."
    : "";
}

function ambiguous(observation: Observation, suspectIds: readonly string[], noneIsOurs: string): Plan {
  const ids = [...suspectIds].sort();
  return {
    kind: "Stall",
    reason: "CreateAmbiguous",
    message: `The answer to a create was lost, and the create may have made ${ids.join(", ")}. Annotate the resource with ${annotations.resolveCreate}=adopt=<endpoint id> if one of them is yours. ${noneIsOurs}${retainRemedy(observation)}`,
    suspectIds: ids,
  };
}

/**
 * Plans what a person asks for by the annotation `resolve-create`. `undefined`: there is no annotation, it does not fit
 * the intent, or the named endpoint is not free or may not be adopted.
 */
function planPersonsAnswer(observation: Observation, intent: CreateIntent): Plan | undefined {
  const { resource, project, claims, identity, grant } = observation;
  const [verb, value = ""] = resource.annotations[annotations.resolveCreate]?.split("=") ?? [];
  if (verb === "abandon" && value === intent.attempt) {
    return { kind: "CloseIntent", intent, cause: "Abandoned" };
  }
  const chosen = verb === "adopt" ? project.endpoints.get(value) : undefined;
  if (chosen === undefined || chosen.branchId !== intent.branchId || chosen.type !== intent.type) {
    return undefined;
  }
  const token = tokenIn(chosen.name);
  const isFree =
    !intent.preIds.includes(chosen.id) &&
    claims.ownerOf(chosen.id, resource.uid) === undefined &&
    (token === undefined || claims.creatorByToken(token, resource.uid) === undefined);
  const origin = token === ownershipToken(identity.clusterId, resource.uid) ? "Created" : "Adopted";
  return isFree && (origin === "Created" || grant.mayAdopt) ? recordOwnership(observation, chosen, origin) : undefined;
}
