/** Plans the next step of a resource with an open create: its intent is stored, and its result is not. */
import type { ObservedEndpoint } from "../../domain/endpoint.ts";
import { stall } from "../../engine/kind.ts";
import { annotations } from "../../resource/names.ts";
import type { PlacedSpec } from "../../resource/spec-schema.ts";
import type { CreateIntent } from "../../resource/status-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import {
  type Candidates,
  candidatesOf,
  chosenOf,
  createUnder,
  isForPlaceOf,
  recordOwnership,
} from "./create-intent.ts";
import { desiredChanges, fieldStateOf } from "./desired-endpoint.ts";
import type { Observation } from "./observation.ts";
import type { Plan } from "./plan.ts";
import { planOwnToken } from "./plan-unowned.ts";
import { scheduledSpec } from "./schedules.ts";

/** An open create. `spec` is `undefined` if the resource is being deleted, so it no longer wants an endpoint. */
interface OpenCreate {
  readonly intent: CreateIntent;
  readonly spec: PlacedSpec | undefined;
}

/**
 * Plans the next step of a resource with an open create. At most one POST of it is ever unresolved: the operator sends
 * another POST only when no earlier one can still take effect.
 */
export function planOpenCreate(situation: OpenCreate, observation: Observation): Plan {
  const { intent } = situation;
  if (observation.resource.annotations[annotations.resolveCreate] === `abandon=${intent.attempt}`) {
    return { kind: "CloseIntent", intent, cause: "Abandoned" };
  }
  const candidates = candidatesOf(observation, intent);
  const own = planOwnToken(observation, candidates.own);
  if (own !== undefined) {
    return own;
  }
  const chosen = observation.grant.mayAdopt ? chosenOf(observation, candidates.nameless) : undefined;
  if (chosen !== undefined) {
    return recordOwnership(observation, chosen, "Adopted");
  }
  const { posts } = observation.memory;
  return posts?.attempt === intent.attempt && !posts.isUnresolved
    ? planNextCreate(situation, observation, intent)
    : planUnresolved(situation, observation, candidates);
}

/**
 * Plans what follows when no earlier POST of the intent can take effect any more. If the resource is being deleted, spec
 * names another place, or the branch has a read-write endpoint already, the operator closes the intent.
 * @param clean the stored intent, if every POST of it was refused or never sent. `undefined`: a POST of it had no answer,
 *   so the next POST gets a new intent.
 */
function planNextCreate({ intent, spec }: OpenCreate, observation: Observation, clean: CreateIntent | undefined): Plan {
  return spec === undefined || !isForPlaceOf(intent, spec) || isPlaceTaken(observation, intent)
    ? { kind: "CloseIntent", intent, cause: "NothingCreated" }
    : createUnder(observation, spec, clean);
}

function isPlaceTaken({ project }: Observation, intent: CreateIntent): boolean {
  return (
    intent.type === "ReadWrite" &&
    [...project.endpoints.values()].some(({ branchId, type }) => branchId === intent.branchId && type === "ReadWrite")
  );
}

function planUnresolved(situation: OpenCreate, observation: Observation, candidates: Candidates): Plan {
  const { intent } = situation;
  const { nameless, unreadableIds } = candidates;
  const waitMs = settleLeftMs(observation, intent);
  if (waitMs > 0) {
    return waitUntilSettled(observation, waitMs);
  }
  const [first, ...others] = nameless;
  if (first !== undefined && others.length + unreadableIds.length === 0 && isPresumable(observation, intent, first)) {
    return recordOwnership(observation, first, "Presumed");
  }
  const ids = [...nameless.map(({ id }) => id), ...unreadableIds.map((id) => id || "an entry without an id")];
  return ids.length > 0 ? ambiguous(observation, intent, ids) : planNextCreate(situation, observation, undefined);
}

/**
 * Returns the milliseconds until a list can prove that no POST can still take effect. If this process knows nothing about
 * the intent, an earlier process may have sent a POST just before.
 */
function settleLeftMs({ memory: { posts }, project, policy }: Observation, { attempt }: CreateIntent): number {
  return posts?.attempt === attempt
    ? posts.sinceMs + policy.createSettleMs - project.startedAtMs
    : policy.createSettleMs;
}

const minuteMs = 60_000;

function waitUntilSettled({ nowMs, policy }: Observation, waitMs: number): Plan {
  // Whole minutes, so that the message stays the same.
  const until = new Date(Math.ceil((nowMs + waitMs) / minuteMs) * minuteMs).toISOString().slice(11, 16);
  return {
    kind: "Wait",
    reason: "CreateUnresolved",
    message: `The answer to a create was lost. The operator waits until ${until} UTC, when that request can no longer take effect.`,
    waitMs: Math.max(waitMs, policy.operationPollMs),
  };
}

/** Whether the only candidate may be recorded without asking a person: no field that it shows differs from what is wanted. */
function isPresumable({ resource, nowMs }: Observation, { type }: CreateIntent, endpoint: ObservedEndpoint): boolean {
  return (
    type === "ReadWrite" &&
    resource.spec.kind === "Valid" &&
    fieldStateOf(desiredChanges(scheduledSpec(resource.spec.spec, nowMs).spec), endpoint) !== "Differs"
  );
}

function ambiguous({ resource }: Observation, { attempt }: CreateIntent, candidateIds: readonly string[]): Plan {
  const retain = isBeingDeleted(resource)
    ? " To remove this resource and leave them all, set spec.deletionPolicy to Retain."
    : "";
  const ids = candidateIds.toSorted().join(", ");
  return stall(
    "CreateAmbiguous",
    `The answer to a create was lost, and the create may have made ${ids}. Annotate the resource with ${annotations.resolveCreate}=adopt=<endpoint id> if one of them is yours. If none is, annotate it with ${annotations.resolveCreate}=abandon=${attempt}.${retain}`,
  );
}
