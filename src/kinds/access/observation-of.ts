/** Makes the observation of a DatabaseAccess from what was read, without further reads. */
import { isIdle } from "../../domain/endpoint.ts";
import type { Reads } from "../../engine/kind.ts";
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
  const { endpointId } = own.endpoint;
  const endpoint = project?.snapshot?.endpoints.get(endpointId);
  const operations = project?.operations.operations.filter((each) => each.endpointId === endpointId) ?? [];
  return {
    ...own,
    ...{ resource, spec, nowMs, policy, account: context.secrets.account },
    settings: context.settingsOf(context.planeId),
    objects: observedObjects({ ...own, spec, objects: recorded }, memory.posts),
    openReset: recorded.length === 0 ? undefined : resource.status.password?.rotation,
    rotationDueMs: rotationDueMs(
      { ...context, nowMs },
      resource,
      endpoint !== undefined && isIdle(endpoint, operations),
    ),
  };
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
