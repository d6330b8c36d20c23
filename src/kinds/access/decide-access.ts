/** Decides about one DatabaseAccess: what to read next, and what follows from the reads. */
import type { Reads } from "../../engine/kind.ts";
import type { ProjectReads } from "../../engine/project-reads.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { waits } from "./access-texts.ts";
import {
  type AccessContext,
  type AccessFacts,
  type AccessTypes,
  type BoundEndpoint,
  type Plan,
  validSpecOf,
} from "./access-types.ts";
import { deletedWith, nextToDelete } from "./deletion.ts";
import { boundTo, type NamedEndpoint, referenceOf } from "./endpoint-reference.ts";
import { configMarkOf, observationOf } from "./observe-access.ts";
import { planAccess } from "./plan-access.ts";
import { isRotationDue } from "./rotation.ts";

type AccessReadsSoFar = Reads<AccessTypes>;

/** The interval at which a Secret is compared with the operator's last write, in milliseconds. */
export const secretCheckMs = 45_000;

export function decideAccess(context: AccessContext, facts: AccessFacts, reads: AccessReadsSoFar): Plan {
  if (isBeingDeleted(facts.resource)) {
    return decideDeletion(context, facts, reads);
  }
  const reference = referenceOf(context, facts.resource);
  if (reference.kind !== "Named") {
    return reference;
  }
  return reads.project === undefined
    ? decideUnread(context, facts, reads)
    : decideWith(context, facts, { ...reads, reference });
}

/** Between two comparisons with the control plane, only the Secrets are looked at, unless a rotation is due. */
function decideUnread(context: AccessContext, facts: AccessFacts, { own }: AccessReadsSoFar): Plan {
  if (own?.kind === "Secret" && own.isUnchanged) {
    return { kind: "Idle", dueInMs: secretCheckMs };
  }
  const isCheckDue = own === undefined && facts.isDue && !facts.isChanged && isCompared(facts);
  return { kind: "Look", at: isCheckDue && !isRotationDue(context, facts.resource) ? "Own" : "Project" };
}

function isCompared({ memory, resource, monotonicMs, policy }: AccessFacts): boolean {
  const { compared } = memory.hint ?? {};
  const isFailing = memory.failure !== undefined || memory.writeFailures > 0;
  const isCurrent = resource.status.observedGeneration === resource.generation;
  return compared !== undefined && monotonicMs - compared.atMs < policy.resyncMs && isCurrent && !isFailing;
}

function decideWith(
  context: AccessContext,
  facts: AccessFacts,
  { project, own, reference }: AccessReadsSoFar & { readonly reference: NamedEndpoint },
): Plan {
  if (project?.snapshot === undefined) {
    return { kind: "Look", at: "Project" };
  }
  const endpoint = boundTo(context, facts.resource, project.snapshot);
  if (endpoint === undefined) {
    return project.snapshot.readsById.has(reference.endpointId)
      ? waits.endpoint(validSpecOf(facts.resource)?.endpointRef.name ?? "", facts.policy.operationPollMs)
      : { kind: "Look", at: "Endpoint", endpointId: reference.endpointId };
  }
  // Only unfinished work asks for reads. A failed resource waits for its next try.
  const { hint, failure } = facts.memory;
  const isHeld = !facts.isDue && (failure?.retryAtMs ?? 0) > facts.monotonicMs;
  const isSame = !facts.isDue && isCompared(facts) && comparedMark(project, endpoint) === hint?.compared?.mark;
  if (own === undefined && (isHeld || isSame)) {
    return { kind: "Idle", dueInMs: undefined };
  }
  const observation = observationOf(context, facts, { project, ...(own && { own }) });
  if (observation === undefined) {
    return { kind: "Look", at: "Own" };
  }
  const plan = planAccess(observation);
  // A list may be out of date. Only a read by id proves the endpoint and its state.
  const isProven = plan.kind !== "ResetPassword" || project.snapshot.readsById.has(endpoint.endpointId);
  return isProven ? plan : { kind: "Look", at: "Endpoint", endpointId: endpoint.endpointId };
}

/** Describes everything of the project that the Secret is made from. */
export function comparedMark({ operations }: ProjectReads, endpoint: BoundEndpoint): string {
  return JSON.stringify([endpoint, configMarkOf(operations, endpoint.branchId)]);
}

function decideDeletion(
  context: AccessContext,
  { resource, memory, policy, monotonicMs }: AccessFacts,
  { project, own }: AccessReadsSoFar,
): Plan {
  if (project === undefined) {
    return { kind: "Look", at: "Project" };
  }
  if (own?.kind !== "Contents") {
    return { kind: "Look", at: "Own" };
  }
  const objects = deletedWith(context, resource);
  const object = nextToDelete(objects, own.byBranch);
  if (object !== undefined) {
    return { kind: "DeleteObject", object };
  }
  // A create without an answer can still take effect. A deletion sends no create.
  const { posts } = memory;
  const isOpen = objects.some((each) => each.origin === "Requested") && posts?.isUnresolved === true;
  const waitMs = isOpen ? posts.sinceMs + policy.createSettleMs - monotonicMs : 0;
  return waitMs > 0 ? waits.deleting(waitMs) : { kind: "RemoveFinalizer", cause: "Gone" };
}
