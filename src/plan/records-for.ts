import type { ControlPlaneReason } from "../domain/control-plane-error.ts";
import type { ComputeEndpointStatus, CreateIntent } from "../resource/status-schema.ts";
import { desiredChanges, desiredFields, hashOf } from "./desired-endpoint.ts";
import { diffEndpoint } from "./diff-endpoint.ts";
import { acknowledge } from "./drift.ts";
import type { LocalObservation } from "./observation.ts";
import type { Outcome } from "./outcome.ts";
import type { Pass } from "./pass.ts";
import { ownershipOf } from "./record-ownership.ts";
import type { Verdict } from "./verdict.ts";

/** The parts of status that later passes build on. A key that is `undefined` is removed. */
export type Records = Pick<ComputeEndpointStatus, "ownership" | "createIntent" | "acknowledged">;

/** Refusals after which the intent is not kept: the same request would only be refused again. */
const closingReasons: readonly ControlPlaneReason[] = [
  "Malformed",
  "Unauthorized",
  "Forbidden",
  "NotFound",
  "Conflict",
  "Rejected",
];

/** Ownership, intent and acknowledgement after a pass. */
export function recordsFor(pass: Pass, verdict: Verdict): Records {
  const { plan, outcome, local } = pass;
  const { status } = local.resource;
  const kept: Records = {
    ownership: status.ownership,
    createIntent: status.createIntent,
    acknowledged: acknowledgedAfter(pass, verdict),
  };
  switch (plan?.kind) {
    case "RecordIntent":
      return outcome.kind === "Done" ? { ...kept, createIntent: plan.intent } : kept;
    case "CloseIntent":
      return { ...kept, createIntent: undefined };
    case "RecordOwnership":
      return { ...kept, ownership: plan.ownership, createIntent: undefined };
    case "ForgetEndpoint":
      return { ownership: undefined, createIntent: undefined, acknowledged: undefined };
    case "CreateEndpoint":
      return { ...kept, ...afterCreate(pass, plan.intent) };
    case "Stall":
      return { ...kept, createIntent: withSuspects(status.createIntent, plan.suspectIds) };
    default:
      return kept;
  }
}

function afterCreate({ local, outcome }: Pass, intent: CreateIntent): Partial<Records> {
  if (outcome.kind === "Accepted" && outcome.mutation !== undefined) {
    return { ownership: ownershipOf(local, outcome.mutation.endpoint, "Created"), createIntent: undefined };
  }
  return closesIntent(outcome) ? { createIntent: undefined } : { createIntent: intent };
}

/** Only if every attempt under the intent was definitely not applied. */
function closesIntent(outcome: Outcome): boolean {
  return outcome.kind === "Failed" && outcome.posts === "AllDefinite" && closingReasons.includes(outcome.error.reason);
}

function withSuspects(intent: CreateIntent | undefined, suspectIds: readonly string[] | undefined) {
  return intent === undefined || suspectIds === undefined ? intent : { ...intent, suspectIds: [...suspectIds] };
}

function acknowledgedAfter(pass: Pass, verdict: Verdict): Records["acknowledged"] {
  const { plan, outcome, local } = pass;
  const previous = local.resource.status.acknowledged;
  switch (plan?.kind) {
    case "CreateEndpoint":
    case "UpdateEndpoint":
      return outcome.kind === "Accepted" ? acceptedNow(local, plan.hash) : previous;
    case "RecordOwnership":
      return plan.acknowledgedHash === undefined ? undefined : acceptedNow(local, plan.acknowledgedHash);
    default:
      return verdict.kind === "Ready" ? matchedNow(pass) : previous;
  }
}

function acceptedNow({ resource, nowMs }: LocalObservation, hash: string): Records["acknowledged"] {
  const fields = resource.spec.kind === "Valid" ? desiredFields(resource.spec.spec).map(({ field }) => field) : [];
  return acknowledge(resource.status.acknowledged, { generation: resource.generation, hash, fields }, nowMs);
}

/** The service was seen to have what it accepted, or has all that spec manages without having been asked. */
function matchedNow({ local, observation }: Pass): Records["acknowledged"] {
  const { resource, nowMs } = local;
  const previous = resource.status.acknowledged;
  if (resource.spec.kind === "Invalid" || observation?.remote.kind !== "Present") {
    return previous;
  }
  const { spec } = resource.spec;
  const { differing } = diffEndpoint(spec, observation.remote.endpoint);
  const hash = hashOf(desiredChanges(spec));
  const fields: string[] = desiredFields(spec).map(({ field }) => field);
  if (differing.length > 0) {
    return previous;
  }
  return previous?.hash === hash
    ? { ...previous, generation: resource.generation, fields, unmatchedAttempts: 0 }
    : {
        generation: resource.generation,
        hash,
        fields,
        attempts: 0,
        unmatchedAttempts: 0,
        time: new Date(nowMs).toISOString(),
      };
}
