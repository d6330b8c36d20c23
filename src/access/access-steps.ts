import { nextFailure } from "../decide/call-failures.ts";
import { eventsOfStall } from "../decide/events-for.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import {
  KubernetesError,
  type SecretData,
  type SecretWriteCause,
  type WantedSecret,
} from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { guarded } from "../reconcile/in-parallel.ts";
import { resourceFields } from "../reconcile/report.ts";
import { secondsTime } from "../resource/conditions.ts";
import { secretKeyOf } from "../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { annotations, group, version } from "../resource/names.ts";
import { type AccessContext, type AccessObservation, roleIn, seenOf, type WorkedAccess } from "./access-observation.ts";
import { recordsWith } from "./access-records.ts";
import { type AccessSummary, accessStatus, eventOfWrite, stalls, summaryOfFailure } from "./access-summary.ts";
import { bindingSecretType } from "./binding.ts";
import { readOwnSecret } from "./observe-access.ts";
import { isRotationWanted } from "./plan-access.ts";

/** Stores the status if it has changed. A new stall is also an event. @throws KubernetesError */
export async function storeStep(
  { store, events, logger, clock }: AccessContext,
  worked: WorkedAccess,
  summary: AccessSummary,
  changes: Partial<DatabaseAccessStatus> = {},
): Promise<void> {
  const { resource, entry } = worked;
  const status = accessStatus(resource, summary, { changes, nowMs: clock.nowMs() });
  if (!isSameStored(status, resource.status)) {
    worked.resource = await store.patchStatus(resource, status);
    for (const event of eventsOfStall(resource.status.conditions, status.conditions)) {
      events.record(worked.resource, event);
    }
    logger.info({ ...resourceFields(resource), step: summary.kind }, "reconciled: the status changed");
  }
  entry.seen = seenOf(worked);
  entry.storeFailures = 0;
  if (summary.kind === "Ready") {
    // The password is kept until the resource is Ready: until then, the next reconcile may have to write the Secret
    // again.
    entry.pendingPassword = undefined;
  }
}

/** If the work fails, the resource is compared with the control plane after a backoff. */
export function guardedStep(context: AccessContext, worked: WorkedAccess, work: () => Promise<void>): Promise<void> {
  const onFailure = () => {
    // Before the backoff has passed, only a change of the resource makes it due.
    worked.entry.seen = seenOf(worked);
    worked.entry.compared = undefined;
  };
  return guarded(context, worked, work, { firstMs: 500, onFailure });
}

/** Adds a failure to the series of failures. The resource waits until the next try. @returns that series */
export function noteFailure(context: AccessContext, { entry, resource }: WorkedAccess, error: ControlPlaneError) {
  const { generation } = resource;
  const failure = nextFailure(entry.failure, { error, generation, nowMs: context.clock.monotonicMs() }, context);
  entry.failure = failure;
  entry.dueAtMs = failure.retryAtMs;
  entry.compared = undefined;
  return failure;
}

/** Reports a failed call in status, after `noteFailure`. @throws KubernetesError */
export function storeFailure(context: AccessContext, worked: WorkedAccess, error: ControlPlaneError): Promise<void> {
  const nowMs = context.clock.monotonicMs();
  const forMs = nowMs - (worked.entry.failure?.sinceMs ?? nowMs);
  return storeStep(context, worked, summaryOfFailure(worked.resource, error, forMs));
}

/** Stalls without the right to write the Secret. @throws KubernetesError; `SecretRefused` if the Secret is refused */
export async function writeSecret(
  context: AccessContext,
  worked: WorkedAccess,
  observation: AccessObservation,
  { data, cause }: { readonly data: SecretData; readonly cause: SecretWriteCause },
): Promise<void> {
  const { secrets, events, observer, clock } = context;
  const { resource } = worked;
  const key = secretKeyOf(resource);
  const { secret } = observation;
  const before = secret.kind === "Own" ? secret.secret : undefined;
  const written = await secrets.write(wantedSecret(observation, data), before).catch(unlessForbidden);
  if (written === undefined) {
    await storeStep(context, worked, stalls.secretsForbidden(resource, secrets.account));
    return;
  }
  observer.secretWritten(cause);
  events.record(resource, eventOfWrite(cause, key.name));
  const { resourceVersion } = written;
  const changes = { secret: { resourceVersion, changedTime: secondsTime(clock.nowMs()) } };
  await storeStep(context, worked, { kind: "Ready" }, { ...settledChanges(context, observation), ...changes });
}

export function wantedSecret({ resource, spec }: AccessObservation, data: SecretData): WantedSecret {
  const { labels = {}, annotations = {} } = spec.secret ?? {};
  const owner = { apiVersion: `${group}/${version}`, kind: resource.kind, name: resource.key.name, uid: resource.uid };
  return { key: secretKeyOf(resource), type: bindingSecretType, owner, labels, annotations, data };
}

function unlessForbidden(error: unknown): undefined {
  if (!isForbidden(error)) throw error;
}

export function isForbidden(error: unknown): boolean {
  return error instanceof KubernetesError && error.reason === "Forbidden";
}

/** Without the right, the garbage collector deletes the Secret that the resource owns. @throws KubernetesError */
export async function releaseResource(
  { secrets, store, logger }: AccessContext,
  { resource }: WorkedAccess,
): Promise<void> {
  const facts = await readOwnSecret(secrets, resource);
  if (facts.kind === "Own") {
    await secrets.delete(facts.secret).catch(unlessForbidden);
  }
  await store.removeFinalizer(resource);
  logger.info(resourceFields(resource), "finalizer removed");
}

export function settledChanges(
  { clock, identity }: AccessContext,
  observation: AccessObservation,
): Partial<DatabaseAccessStatus> {
  const { resource, endpoint, secret, objects } = observation;
  const { endpointId, projectId, branchId, hosts } = endpoint;
  const { secret: known, password } = resource.status;
  const now = secondsTime(clock.nowMs());
  const resourceVersion = secret.kind === "Own" ? secret.secret.resourceVersion : undefined;
  const { rotation } = password ?? {};
  const isRotated = isRotationWanted(observation);
  const requestedAt =
    rotation === undefined ? resource.annotations[annotations.rotateRequestedAt] : rotation.requestedAt;
  return {
    binding: { name: secretKeyOf(resource).name },
    endpoint: { endpointId, projectId, branchId, host: hosts.host },
    records: recordsWith(resource, identity, objects),
    password: passwordStatus(observation, isRotated, now),
    ...(resourceVersion !== undefined && { secret: { resourceVersion, changedTime: known?.changedTime ?? now } }),
    ...(isRotated && requestedAt !== undefined && { lastHandledRotateAt: requestedAt }),
  };
}

function passwordStatus(
  observation: AccessObservation,
  isRotated: boolean,
  now: string,
): DatabaseAccessStatus["password"] {
  const before = observation.resource.status.password;
  const { password } = observation;
  const listed = roleIn(observation)?.updatedTime ?? "";
  const roleUpdatedTime = password.kind === "Known" ? listed : (before?.roleUpdatedTime ?? listed);
  const isSame = before?.roleUpdatedTime === roleUpdatedTime;
  const rotatedTime = isRotated ? now : before?.rotatedTime;
  return {
    roleUpdatedTime,
    knownSinceTime: isSame ? notLater(before.knownSinceTime, now) : now,
    ...(rotatedTime !== undefined && { rotatedTime: notLater(rotatedTime, now) }),
  };
}

/** Returns the earlier time. If the clock was ahead at the last reset, the later time would delay the next rotation. */
function notLater(time: string, now: string): string {
  return Date.parse(time) > Date.parse(now) ? now : time;
}
