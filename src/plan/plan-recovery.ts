import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { annotations } from "../resource/names.ts";
import type { CreateIntent } from "../resource/status-schema.ts";
import { creatorAmong, ownerAmong } from "./claims.ts";
import { createUnder, intentFreshMs, isIntentCurrent, isIntentFresh, newIntent } from "./create-intent.ts";
import type { Observation, Policy } from "./observation.ts";
import type { Plan } from "./plan.ts";
import { planRediscovery, recordOwnership } from "./record-ownership.ts";
import { waitForTurn } from "./wait-for-turn.ts";

/** What the endpoints that appeared since an intent say about it. */
interface Candidates {
  /** Nameless at a service that may not echo names: perhaps ours. */
  readonly suspects: readonly ObservedEndpoint[];
  /** Certainly somebody else's. */
  readonly foreign: readonly ObservedEndpoint[];
}

/** The next step of a resource with an open create. Works from the intent, never from the present spec's place. */
export function planRecovery(observation: Observation, intent: CreateIntent, policy: Policy): Plan {
  const plan =
    planResolution(observation, intent) ?? planRediscovery(observation) ?? planUnresolved(observation, intent, policy);
  const isCreating = plan.kind === "CreateEndpoint" || plan.kind === "RecordIntent";
  return isCreating && observation.createTurn.kind === "Waiting" ? waitForTurn(policy) : plan;
}

function planUnresolved(observation: Observation, intent: CreateIntent, policy: Policy): Plan {
  const memory = observation.memory.intent;
  if (memory?.attempt === intent.attempt && memory.posts !== "Unresolved") {
    return planUnsent(observation, intent);
  }
  const candidates = judge(observation, intent);
  return intent.type === "ReadWrite"
    ? planReadWrite(observation, intent, { candidates, policy })
    : planReadOnly(observation, intent, { candidates, policy });
}

/** Nothing that was sent under this intent can have taken effect. */
function planUnsent(observation: Observation, intent: CreateIntent): Plan {
  const { resource } = observation;
  if (isBeingDeleted(resource) || resource.spec.kind === "Invalid") {
    return { kind: "CloseIntent", intent, cause: "NothingLanded" };
  }
  const { spec } = resource.spec;
  if (isIntentCurrent(observation, intent, spec)) {
    return createUnder(observation, intent, spec);
  }
  return isPlaceFree(observation, intent) && isWanted(observation, intent)
    ? { kind: "RecordIntent", intent: newIntent(observation, spec) }
    : { kind: "CloseIntent", intent, cause: "NothingLanded" };
}

/** A branch has room for any number of replicas and for one read-write endpoint. */
function isPlaceFree({ project }: Observation, intent: CreateIntent): boolean {
  return (
    intent.type === "ReadOnly" ||
    !project.endpoints.some(({ branchId, type }) => branchId === intent.branchId && type === "ReadWrite")
  );
}

interface Judgement {
  readonly candidates: Candidates;
  readonly policy: Policy;
}

/** The service refuses a second read-write endpoint, so posting again is safe as soon as none is there. */
function planReadWrite(observation: Observation, intent: CreateIntent, { candidates, policy }: Judgement): Plan {
  const { suspects, foreign } = candidates;
  const [suspect] = suspects;
  if (suspect !== undefined && suspects.length === 1 && isWithinReach(suspect, intent, policy)) {
    return recordOwnership(observation, suspect, "Presumed");
  }
  if (suspects.length + foreign.length > 0) {
    return closeOnceSettled(observation, intent, { policy, cause: "TakenByAnother" });
  }
  return isWanted(observation, intent)
    ? postAgain(observation, intent)
    : closeOnceSettled(observation, intent, { policy, cause: "NothingLanded" });
}

/** A second replica would be a leak, so only a complete list begun after the settle time allows another post. */
function planReadOnly(observation: Observation, intent: CreateIntent, { candidates, policy }: Judgement): Plan {
  const suspectIds = suspectIdsOf(observation, intent, candidates);
  if (suspectIds.length > 0) {
    return createAmbiguous(observation, intent, suspectIds);
  }
  const waitMs = settleLeftMs(observation, policy);
  if (waitMs > 0) {
    return unresolved(waitMs);
  }
  return isWanted(observation, intent)
    ? postAgain(observation, intent)
    : { kind: "CloseIntent", intent, cause: "NothingLanded" };
}

/** The present spec still asks for just this place, and nobody deletes the resource. */
function isWanted({ resource }: Observation, intent: CreateIntent): boolean {
  return (
    !isBeingDeleted(resource) &&
    resource.spec.kind === "Valid" &&
    resource.spec.spec.branchId === intent.branchId &&
    resource.spec.spec.type === intent.type
  );
}

/** The intent's time bounds when its posts were sent, so it is renewed before a late one. */
function postAgain(observation: Observation, intent: CreateIntent): Plan {
  const { resource, nowMs } = observation;
  if (resource.spec.kind === "Invalid") {
    throw new Error("posting again needs a valid spec");
  }
  return isIntentFresh(intent, nowMs)
    ? createUnder(observation, intent, resource.spec.spec)
    : { kind: "RecordIntent", intent: { ...intent, time: new Date(nowMs).toISOString() } };
}

function closeOnceSettled(
  observation: Observation,
  intent: CreateIntent,
  { policy, cause }: { readonly policy: Policy; readonly cause: "NothingLanded" | "TakenByAnother" },
): Plan {
  const waitMs = settleLeftMs(observation, policy);
  return waitMs > 0 ? unresolved(waitMs) : { kind: "CloseIntent", intent, cause };
}

function unresolved(waitMs: number): Plan {
  return {
    kind: "Wait",
    reason: "CreateUnresolved",
    message:
      "The answer to a create was lost; waiting until it can no longer take effect before anything else is decided.",
    requeueAfterMs: waitMs,
  };
}

/** Milliseconds until a reading can prove that no post of ours is still on its way. */
function settleLeftMs({ memory, project }: Observation, policy: Policy): number {
  const { intent } = memory;
  if (intent === undefined) {
    return policy.createSettleMs;
  }
  const settledAtMs = Math.max(intent.firstSeenMs, intent.lastPostMs ?? 0) + policy.createSettleMs;
  return Math.max(0, settledAtMs - project.asOfMs);
}

function judge({ project, claims }: Observation, intent: CreateIntent): Candidates {
  const appeared = project.endpoints
    .filter(
      (endpoint) =>
        endpoint.branchId === intent.branchId &&
        endpoint.type === intent.type &&
        !intent.preIds.includes(endpoint.id) &&
        ownerAmong(claims, endpoint.id) === undefined,
    )
    .sort((a, b) => Date.parse(a.createdTime) - Date.parse(b.createdTime));
  const suspects = appeared.filter(({ name }) => name === undefined && !project.echoesNames);
  return { suspects, foreign: appeared.filter((each) => !suspects.includes(each)) };
}

/** The two clocks, the service's and ours, are trusted to be this close. */
const clockSkewMs = 60_000;

/**
 * Created no earlier than the intent and no later than a post of ours may land. An endpoint that was not in the list
 * before may all the same be an old one: somebody has moved it here.
 */
function isWithinReach(suspect: ObservedEndpoint, intent: CreateIntent, policy: Policy): boolean {
  const sinceIntentMs = Date.parse(suspect.createdTime) - Date.parse(intent.time);
  return sinceIntentMs >= -clockSkewMs && sinceIntentMs <= intentFreshMs + policy.createSettleMs;
}

/**
 * Suspects once frozen stay so until a person decides, they are gone or somebody else is recorded as their owner: a
 * later name echo does not clear them.
 */
function suspectIdsOf(
  { project, claims }: Observation,
  intent: CreateIntent,
  candidates: Candidates,
): readonly string[] {
  const frozen = (intent.suspectIds ?? []).filter(
    (id) => project.endpoints.some((endpoint) => endpoint.id === id) && ownerAmong(claims, id) === undefined,
  );
  return frozen.length > 0 ? frozen : candidates.suspects.map(({ id }) => id).sort();
}

function createAmbiguous(observation: Observation, intent: CreateIntent, suspectIds: readonly string[]): Plan {
  const deleting = isBeingDeleted(observation.resource)
    ? " To let this resource go and leave them all, set spec.deletionPolicy to Retain."
    : "";
  return {
    kind: "Stall",
    reason: "CreateAmbiguous",
    message: `The answer to a create was lost and ${suspectIds.join(", ")} may be what it made. Annotate with ${annotations.resolveCreate}=adopt=<endpoint id> if one of them is, or ${annotations.resolveCreate}=abandon=${intent.attempt} if none is.${deleting}`,
    suspectIds,
  };
}

/** A person's answer, where it fits; one that does not fit changes nothing. */
function planResolution(observation: Observation, intent: CreateIntent): Plan | undefined {
  const [verb, value] = observation.resource.annotations[annotations.resolveCreate]?.split("=") ?? [];
  if (verb === "abandon" && value === intent.attempt) {
    return { kind: "CloseIntent", intent, cause: "Abandoned" };
  }
  const chosen = observation.project.endpoints.find(({ id }) => id === value);
  const isOffered =
    verb === "adopt" &&
    chosen !== undefined &&
    chosen.branchId === intent.branchId &&
    chosen.type === intent.type &&
    !intent.preIds.includes(chosen.id) &&
    ownerAmong(observation.claims, chosen.id) === undefined &&
    creatorAmong(observation.claims, chosen, observation.identity.clusterId) === undefined;
  return isOffered ? recordOwnership(observation, chosen, "Adopted") : undefined;
}
