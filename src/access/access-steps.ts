/** Carries out one step of a DatabaseAccess: stores status and Secret, and notes failures. */

import { nextFailure } from "../decide/call-failures.ts";
import { eventsOfStall } from "../decide/events-for.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import { KubernetesError, type SecretData, type SecretWriteCause } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { guarded } from "../reconcile/in-parallel.ts";
import { resourceFields } from "../reconcile/report.ts";
import { secondsTime } from "../resource/conditions.ts";
import { type DatabaseAccess, secretKeyOf } from "../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { group, version } from "../resource/names.ts";
import type { AccessContext } from "./access-context.ts";
import type { AccessObservation, WorkedAccess } from "./access-observation.ts";
import { observedObjects, recordsWith } from "./access-records.ts";
import { type AccessSummary, accessStatus, stalled, summaryOfAccessFailure } from "./access-status.ts";
import { bindingSecretType } from "./binding.ts";
import * as messages from "./messages.ts";
import { roleIn } from "./plan-access.ts";

/** The result of a step: what the conditions say, and what changes in status. */
export interface AccessStep {
  readonly summary: AccessSummary;
  readonly changes?: Partial<DatabaseAccessStatus>;
}

/**
 * Stores the status after a step if it has changed. If the resource became Stalled, it publishes an event. @throws
 * KubernetesError
 */
export async function storeStep(
  { store, events, logger, clock }: AccessContext,
  worked: WorkedAccess,
  { summary, changes = {} }: AccessStep,
): Promise<void> {
  const { resource, entry } = worked;
  const status = accessStatus(resource, { summary, changes, nowMs: clock.nowMs() });
  if (!isSameStored(status, resource.status)) {
    worked.resource = await store.patchStatus(resource, status);
    for (const event of eventsOfStall(resource.status.conditions, status.conditions)) {
      events.record(worked.resource, event);
    }
    logger.info({ ...resourceFields(resource), step: summary.kind }, "reconciled: the status changed");
  }
  entry.version = worked.resource.resourceVersion;
  entry.storeFailures = 0;
  if (summary.kind === "Ready") {
    // Until status says that the Secret holds the password, the next reconcile may have to compare the two once more.
    entry.pendingPassword = undefined;
  }
}

/** Does the work for one resource. After a failure and its backoff, the resource is compared with the control plane. */
export function guardedStep(context: AccessContext, worked: WorkedAccess, work: () => Promise<void>): Promise<void> {
  const onFailure = () => {
    // Before the backoff has passed, only a change of the resource makes it due.
    worked.entry.version = worked.resource.resourceVersion;
    worked.entry.comparedAtMs = Number.NEGATIVE_INFINITY;
  };
  return guarded(context, worked, work, { firstMs: 500, onFailure });
}

/**
 * Adds a failure to the series of failures, and reports it in status. The resource waits until the next try.
 * @param refusedRole the role that the control plane refuses to delete, because the role owns something
 * @returns the time of the next try, in monotonic milliseconds
 */
export async function storeFailure(
  context: AccessContext,
  worked: WorkedAccess,
  error: ControlPlaneError,
  refusedRole?: string,
): Promise<number> {
  const { entry, resource } = worked;
  const nowMs = context.clock.monotonicMs();
  const failure = nextFailure(entry.failure, { error, generation: resource.generation, nowMs }, context);
  entry.failure = failure;
  entry.dueAtMs = failure.retryAtMs;
  entry.comparedAtMs = Number.NEGATIVE_INFINITY;
  const summary =
    refusedRole === undefined
      ? summaryOfAccessFailure(resource, error, nowMs - failure.sinceMs)
      : stalled("RoleInUse", messages.roleInUse(refusedRole, error.message));
  await storeStep(context, worked, { summary });
  return failure.retryAtMs;
}

/**
 * Writes the Secret.
 * @returns the step that follows from it: Ready, or Stalled if the operator has no right to write the Secret.
 * @throws KubernetesError
 */
export async function writeSecret(
  context: AccessContext,
  worked: WorkedAccess,
  observation: AccessObservation,
  { data, cause }: { readonly data: SecretData; readonly cause: SecretWriteCause },
): Promise<AccessStep> {
  const { secrets, events, observer, clock } = context;
  const { resource } = worked;
  const key = secretKeyOf(resource);
  const { secret } = observation;
  const owner = { apiVersion: `${group}/${version}`, kind: resource.kind, name: resource.key.name, uid: resource.uid };
  try {
    const written =
      secret.kind === "Own"
        ? await secrets.replaceData(secret.secret, data)
        : await secrets.create(key, { type: bindingSecretType, owner, data });
    observer.secretWritten(cause);
    events.record(resource, messages.eventOfWrite(cause, key.name));
    const changedTime = secondsTime(clock.nowMs());
    const ofSecret = { secret: { resourceVersion: written.resourceVersion, changedTime } };
    return { summary: { kind: "Ready" }, changes: { ...settledChanges(context, observation), ...ofSecret } };
  } catch (error) {
    if (error instanceof KubernetesError && error.reason === "Forbidden") {
      return { summary: stalled("SecretsForbidden", messages.secretsForbidden(resource, secrets.account)) };
    }
    throw error;
  }
}

/** Returns the status changes when role, database and Secret match spec. */
export function settledChanges(context: AccessContext, observation: AccessObservation): Partial<DatabaseAccessStatus> {
  const { resource, endpoint, secret, objects } = observation;
  const { endpointId, projectId, branchId, hosts } = endpoint;
  const known = resource.status.secret;
  const version = secret.kind === "Own" ? secret.secret.resourceVersion : undefined;
  return {
    binding: { name: secretKeyOf(resource).name },
    endpoint: { endpointId, projectId, branchId, host: hosts.host },
    records: recordsWith(resource, context.identity, observedObjects({ ...observation, objects })),
    password: passwordStatus(context, observation),
    ...(version === undefined || known?.resourceVersion === version
      ? {}
      : {
          secret: { resourceVersion: version, changedTime: known?.changedTime ?? secondsTime(context.clock.nowMs()) },
        }),
    ...rotationHandled(resource),
  };
}

function rotationHandled({ status }: DatabaseAccess): Partial<DatabaseAccessStatus> {
  const requestedAt = status.password?.rotation?.requestedAt;
  return requestedAt === undefined ? {} : { lastHandledRotateAt: requestedAt };
}

function passwordStatus({ clock }: AccessContext, observation: AccessObservation): DatabaseAccessStatus["password"] {
  const before = observation.resource.status.password;
  const { password } = observation;
  const now = secondsTime(clock.nowMs());
  const listed = roleIn(observation)?.updatedTime ?? "";
  const roleUpdatedTime =
    password.kind === "Known" ? (password.roleUpdatedTime ?? listed) : (before?.roleUpdatedTime ?? listed);
  const isSame = before?.roleUpdatedTime === roleUpdatedTime;
  const rotatedTime = before?.rotation === undefined ? before?.rotatedTime : now;
  return {
    roleUpdatedTime,
    knownSinceTime: isSame ? notLater(before.knownSinceTime, now) : now,
    ...(rotatedTime === undefined ? {} : { rotatedTime: notLater(rotatedTime, now) }),
  };
}

/** Returns the earlier time. If the clock was ahead at the last reset, the later time would delay the next rotation. */
function notLater(time: string, now: string): string {
  return Date.parse(time) > Date.parse(now) ? now : time;
}
