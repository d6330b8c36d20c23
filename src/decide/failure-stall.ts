import type { StallReason } from "../resource/conditions.ts";

const failureStalls = [
  "Forbidden",
  "Rejected",
  "BranchOccupied",
  "ProjectNotFound",
  "BranchNotFound",
  "ProjectLocked",
] as const satisfies readonly StallReason[];

/** A Stalled reason that a refused call leads to. */
export type FailureStall = (typeof failureStalls)[number];

/** Whether a Stalled reason means that the control plane refused a call. */
export function isFailureStall(reason: string): reason is FailureStall {
  return (failureStalls as readonly string[]).includes(reason);
}
