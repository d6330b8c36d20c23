import type { StoreContent } from "../storage/store.ts";
import { armAutoSuspend } from "./auto-suspend.ts";
import { armAvailabilityCheck } from "./availability-check.ts";
import { armOperationTimer } from "./operations.ts";
import type { World } from "./world.ts";

/**
 * Sets every timer that follows from the records. Timers of a snapshot are not trusted: one that does not match its
 * subject would fall due for ever.
 */
export function rearm(world: World, { operations, endpoints }: StoreContent): void {
  for (const operation of operations) {
    const isUnfinished = operation.status === "scheduling" || operation.status === "running";
    if (isUnfinished) armOperationTimer(world, operation);
  }
  for (const endpoint of endpoints) {
    if (endpoint.state === "active") armAutoSuspend(world, endpoint);
    armAvailabilityCheck(world, endpoint.branchId);
  }
}
