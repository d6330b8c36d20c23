/** Writes the status of a resource. */
import { eventsFor } from "../decide/events-for.ts";
import type { ResourceStep } from "../decide/outcome.ts";
import { entryOf } from "../decide/plan-table.ts";
import { recordsAfter, statusFor } from "../decide/status-for.ts";
import { answeredOperations, latestEndpoint } from "../decide/step-results.ts";
import { KubernetesError, type ResourceStore } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { OperationsSnapshot } from "../operations/known-operations.ts";
import { type LogSubject, type OperationLogStep, reduceOperations } from "../operations/reduce-operations.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { type ResourceEntry, rememberUnconfirmed } from "./project-memory.ts";

type Store = ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;

/** A step whose status is stored. */
export interface StoredStep {
  readonly step: ResourceStep;
  readonly status: ComputeEndpointStatus;
  readonly log: OperationLogStep;
  readonly hasChanged: boolean;
  /** The resourceVersion of the resource with this status. */
  readonly resourceVersion: string;
}

/** The maximum number of attempts to store the answer to a create, if each attempt ends in a conflict. */
const storeAttemptsLimit = 5;

/**
 * Stores the status after a step, if it has changed.
 *
 * The answer to a create must be stored, because the endpoint exists already. After a conflict it is therefore stored
 * on the newest version of the resource. After any other conflict the resource is decided again.
 *
 * @param operations `undefined`: the operation log was not read.
 * @returns `undefined` if the resource is gone or was replaced by another one of the same name.
 * @throws KubernetesError. After a write without an answer, the entry remembers its events and counts.
 */
export async function storeStatus(
  store: Store,
  step: ResourceStep,
  operations: OperationsSnapshot | undefined,
  entry: ResourceEntry,
): Promise<StoredStep | undefined> {
  let current = step;
  for (let attempt = 1; ; attempt += 1) {
    const { resource } = current.local;
    const log = reduceOperations(resource.status, operations, subjectOf(current));
    const status = statusFor(current, log);
    const result = { step: current, status, log };
    if (isSameStored(status, resource.status)) {
      return { ...result, hasChanged: false, resourceVersion: resource.resourceVersion };
    }
    try {
      const { resourceVersion } = await store.patchStatus(resource, status);
      return { ...result, hasChanged: true, resourceVersion };
    } catch (error) {
      if (!hasMoved(error)) {
        const { ended, dropped } = log;
        rememberUnconfirmed(entry, { status, ended, dropped, events: eventsFor(current, status) });
      }
      if (!isAnsweredCreate(step) || attempt >= storeAttemptsLimit || !hasMoved(error)) {
        throw error;
      }
    }
    const fresh = await store.read(resource.key);
    if (fresh === undefined || fresh.uid !== resource.uid) {
      return undefined;
    }
    current = { ...step, local: { ...step.local, resource: fresh } };
  }
}

/** Returns what the reducer of the operation log needs to know about the resource after a step. */
export function subjectOf(step: ResourceStep): LogSubject {
  const { resource, memory } = step.local;
  return {
    ownership: recordsAfter(step).ownership,
    previousOwnership: resource.status.ownership,
    endpoint: latestEndpoint(step),
    answered: answeredOperations(step),
    ownOperationIds: memory.ownOperationIds,
    acknowledgedOperationId: resource.annotations[annotations.acknowledgeOperation],
    serviceTimeMs: step.observation?.project.serviceTimeMs,
  };
}

function isAnsweredCreate({ plan, outcome }: ResourceStep): boolean {
  return outcome.kind === "Accepted" && plan !== undefined && entryOf(plan).intent(plan) !== undefined;
}

/** Whether a write failed because the resource has changed or is gone. */
export function hasMoved(error: unknown): boolean {
  return error instanceof KubernetesError && (error.reason === "Conflict" || error.reason === "NotFound");
}
