/** Makes the observation of a DatabaseAccess from what was read, without further reads. */

import { isInFlight } from "../../domain/operation.ts";
import type { Reads } from "../../engine/kind.ts";
import type { ProjectReads } from "../../engine/project-reads.ts";
import { observedObjects, recordedObjects } from "./access-records.ts";
import {
  type AccessContext,
  type AccessFacts,
  type AccessObservation,
  type AccessStep,
  type AccessTypes,
  validSpecOf,
} from "./access-types.ts";
import { rotationDueMs } from "./rotation.ts";

export function observationOf(
  context: AccessContext,
  { resource, memory, nowMs, policy }: AccessFacts,
  { own, project }: Reads<AccessTypes>,
): AccessObservation | undefined {
  const spec = validSpecOf(resource);
  if (own?.kind !== "Access" || spec === undefined) {
    return undefined;
  }
  const recorded = recordedObjects(resource, context.identity);
  return {
    ...own,
    ...{ resource, spec, nowMs, policy, account: context.secrets.account },
    settings: context.settingsOf(context.planeId),
    objects: observedObjects({ ...own, spec, objects: recorded }, memory.posts),
    openReset: recorded.length === 0 ? undefined : resource.status.password?.rotation,
    rotationDueMs: rotationDueMs(context, resource, isIdle(project, own.endpoint.endpointId)),
  };
}

/** Unknown words count as active. */
function isIdle(project: ProjectReads | undefined, endpointId: string): boolean {
  const { state, pendingState } = project?.snapshot?.endpoints.get(endpointId) ?? {};
  const running = project?.operations.operations.filter((each) => each.endpointId === endpointId && isInFlight(each));
  return state === "idle" && pendingState === undefined && running?.length === 0;
}

/** The observation as it is after the change of the step: an answer may hold a new password. */
export function observationAfter(
  context: AccessContext,
  { facts, reads, plan, outcome }: AccessStep,
): AccessObservation | undefined {
  const observation = observationOf(context, facts, reads);
  const answered = outcome.kind === "Accepted" && plan?.kind === "ResetPassword" ? outcome.answer.password : undefined;
  if (observation === undefined || answered === undefined) {
    return observation;
  }
  const { password, roleUpdatedTime: updatedTime } = answered;
  const roles = observation.roles.map((role) =>
    role.name === observation.spec.role.name ? { ...role, updatedTime } : role,
  );
  return { ...observation, roles, password: { kind: "Known", password } };
}
