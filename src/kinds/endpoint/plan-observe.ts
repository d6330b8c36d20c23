/** Plans the next step of a resource with `management: Observe`. No plan here sends anything. */

import { stall } from "../../engine/kind.ts";
import { remoteStateOf } from "../../engine/project-reads.ts";
import { type ComputeEndpoint, isObserved } from "../../resource/compute-endpoint.ts";
import { annotations, finalizer } from "../../resource/names.ts";
import type { PlacedSpec } from "../../resource/spec-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { driftOf } from "./drift.ts";
import type { EndpointFacts, Observation } from "./observation.ts";
import { lookAt, type Plan } from "./plan.ts";
import { planOpenCreate, readWriteEndpointOf } from "./plan-unowned.ts";

/** A create without a result is resolved first. After that nothing is left to do at a deletion, and the finalizer goes. */
export function planStopManaging({ resource, memory }: EndpointFacts): Plan | undefined {
  const isOpen = resource.status.createIntent !== undefined || memory.posts?.answer !== undefined;
  const isHeld = resource.finalizers.includes(finalizer) && !isBeingDeleted(resource);
  return isHeld && isObserved(resource) && !isOpen ? { kind: "RemoveFinalizer", cause: "Observed" } : undefined;
}

/** The endpoint of the record, else the one that `spec.adoption` names, else the read-write endpoint of the branch. */
export function planObserve(spec: PlacedSpec, observation: Observation): Plan {
  const { project, resource } = observation;
  const { ownership, createIntent: intent } = resource.status;
  if (ownership === undefined && intent !== undefined) {
    return planOpenCreate({ intent, spec: undefined }, observation);
  }
  const ofBranch = spec.type === "ReadWrite" ? readWriteEndpointOf(observation, spec.branchId)?.id : undefined;
  const endpointId = ownership?.endpointId ?? spec.adoption?.endpointId ?? ofBranch;
  const remote = endpointId === undefined ? undefined : remoteStateOf(project, endpointId);
  if (remote === undefined || remote.kind === "Absent") {
    const what = endpointId === undefined ? `no ${spec.type} endpoint that spec names` : `no endpoint ${endpointId}`;
    const remedy = "Correct spec.branchId or spec.adoption.endpointId, or set spec.management to Manage.";
    return stall("AdoptionTargetMissing", `Project ${spec.projectId} has ${what} to observe. ${remedy}`);
  }
  // Only a read by id proves a difference.
  return remote.kind === "Unknown" || (remote.kind === "Listed" && driftOf(spec, remote.endpoint).length > 0)
    ? lookAt(endpointId ?? "")
    : { kind: "Observe", endpoint: remote.endpoint, ignored: ignoredOf(spec, resource) };
}

function ignoredOf(spec: PlacedSpec, { annotations: given, status }: ComputeEndpoint): readonly string[] {
  const fields = (["deletionPolicy", "disruption", "schedules"] as const).filter((field) => spec[field] !== undefined);
  const { lastHandledWakeAt: woken, lastHandledSuspendAt: suspended } = status;
  const asked = [
    ...(given[annotations.wakeRequestedAt] === woken ? [] : [annotations.wakeRequestedAt]),
    ...(given[annotations.suspendRequestedAt] === suspended ? [] : [annotations.suspendRequestedAt]),
  ];
  return [...fields.map((field) => `spec.${field}`), ...asked.filter((name) => name in given)];
}
