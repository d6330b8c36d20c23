import { KubernetesError, type ResourceStore } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { Pass } from "../plan/pass.ts";
import { type StatusStep, statusFor } from "../plan/status-for.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";

type Store = ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;

/** What a pass left in the cluster. */
export interface StoredStep extends StatusStep {
  readonly hasChanged: boolean;
  /** Of the resource with this status. */
  readonly resourceVersion: string;
}

/** Conflicts in a row over which an answered create is still being stored. */
const storeAttemptsLimit = 5;

/**
 * Stores the status after a pass, if it differs. The answer to a create is stored over conflicts, on the resource as it
 * then is, because the endpoint exists already; any other conflict means that the pass must be made again.
 *
 * @param onDoubt is told of the step that may have been stored or not and of its pass, before the error is thrown.
 * @returns `undefined` when the resource is gone or another one: the ledger still knows the endpoint then.
 * @throws KubernetesError
 */
export async function storeStatus(
  store: Store,
  pass: Pass,
  onDoubt: (step: StatusStep, pass: Pass) => void = () => {},
): Promise<StoredStep | undefined> {
  let current = pass;
  for (let attempt = 1; ; attempt += 1) {
    const { resource } = current.local;
    const step = statusFor(current);
    if (isSameStored(step.status, resource.status)) {
      return { ...step, hasChanged: false, resourceVersion: resource.resourceVersion };
    }
    try {
      const { resourceVersion } = await store.patchStatus(resource, step.status);
      return { ...step, hasChanged: true, resourceVersion };
    } catch (error) {
      if (!hasMoved(error)) {
        onDoubt(step, current);
      }
      const isWorthwhile = isAnsweredCreate(pass) && attempt < storeAttemptsLimit && hasMoved(error);
      if (!isWorthwhile) {
        throw error;
      }
    }
    const fresh = await store.read(resource.key);
    if (fresh === undefined || fresh.uid !== resource.uid) {
      return undefined;
    }
    current = { ...pass, local: { ...pass.local, resource: fresh } };
  }
}

function isAnsweredCreate({ plan, outcome }: Pass): boolean {
  return plan?.kind === "CreateEndpoint" && outcome.kind === "Accepted";
}

function hasMoved(error: unknown): boolean {
  return error instanceof KubernetesError && (error.reason === "Conflict" || error.reason === "NotFound");
}
