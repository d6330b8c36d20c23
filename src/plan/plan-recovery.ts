import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { annotations } from "../resource/names.ts";
import type { CreateIntent } from "../resource/status-schema.ts";
import { ownerAmong } from "./claims.ts";
import { createUnder, intentFreshMs, isIntentCurrent, isIntentFresh, newIntent } from "./create-intent.ts";
import type { Observation, Policy } from "./observation.ts";
import { tokenIn } from "./ownership-token.ts";
import type { Plan } from "./plan.ts";
import { recordOwnership } from "./record-ownership.ts";

/** What the endpoints that appeared since an intent say about it. */
interface Candidates {
  /** Their name carries our token; oldest first. */
  readonly mine: readonly ObservedEndpoint[];
  /** Nameless at a service that may not echo names: perhaps ours. */
  readonly suspects: readonly ObservedEndpoint[];
  /** Certainly somebody else's. */
  readonly foreign: readonly ObservedEndpoint[];
}

/** The next step of a resource with an open create. Works from the intent, never from the present spec's place. */
export function planRecovery(observation: Observation, intent: CreateIntent, policy: Policy): Plan {
  const resolved = planResolution(observation, intent);
  if (resolved !== undefined) {
    return resolved;
  }
  const memory = observation.memory.intent;
  if (memory?.attempt === intent.attempt && memory.posts !== "Unresolved") {
    return planUnsent(observation, intent);
  }
  const candidates = judge(observation, intent);
  const [oldest] = candidates.mine;
  if (oldest !== undefined) {
    return recordOwnership(observation, oldest, "Created");
  }
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
  const intent = memory.intent;
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
  const mine = appeared.filter(({ name }) => tokenIn(name) === intent.token);
  const suspects = appeared.filter(({ name }) => name === undefined && !project.echoesNames);
  return { mine, suspects, foreign: appeared.filter((each) => !mine.includes(each) && !suspects.includes(each)) };
}

/** Created no earlier than the intent (it was not in the list before) and no later than a post of ours may land. */
function isWithinReach(suspect: ObservedEndpoint, intent: CreateIntent, policy: Policy): boolean {
  return Date.parse(suspect.createdTime) <= Date.parse(intent.time) + intentFreshMs + policy.createSettleMs;
}

/** Suspects once frozen stay so until a person decides or they are gone: a later name echo does not clear them. */
function suspectIdsOf({ project }: Observation, intent: CreateIntent, candidates: Candidates): readonly string[] {
  const frozen = (intent.suspectIds ?? []).filter((id) => project.endpoints.some((endpoint) => endpoint.id === id));
  return [...new Set([...frozen, ...candidates.suspects.map(({ id }) => id)])].sort();
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
    ownerAmong(observation.claims, chosen.id) === undefined;
  return isOffered ? recordOwnership(observation, chosen, "Adopted") : undefined;
}
