/** Counts the resources that need a control plane, so that it is not deleted too early. */

import {
  type ComputeEndpoint,
  hasFinalizer,
  isBeingDeleted,
  noProject,
  projectIdOf,
} from "../resource/compute-endpoint.ts";
import type { GrantOf } from "./project-grant.ts";
import { retainsEndpoint } from "./situation.ts";

/** How many resources need a control plane, as far as the operator can count them. */
export interface PlaneUsers {
  readonly count: number;
  /** False: a kind of resources is not listed yet, so there may be more of them. */
  readonly isComplete: boolean;
}

/** Whether it is certain that no resource needs the control plane. */
export function isUnused({ count, isComplete }: PlaneUsers): boolean {
  return count === 0 && isComplete;
}

/**
 * Returns the ComputeEndpoints that have something in a control plane, or that may create or search something there.
 */
export function usersAmong(resources: readonly ComputeEndpoint[], grantOf: GrantOf): readonly ComputeEndpoint[] {
  return resources.filter((resource) => {
    const { ownership, createIntent } = resource.status;
    if ((ownership ?? createIntent) !== undefined || !resource.isOwnershipReadable) {
      return true;
    }
    return isBeingDeleted(resource)
      ? hasFinalizer(resource) && !retainsEndpoint(resource)
      : grantOf(resource.key.namespace, projectIdOf(resource) ?? noProject).mayChange;
  });
}
