import type { StallReason } from "../resource/conditions.ts";

/** The stalls that a failed call leads to. */
export type FailureStall = Extract<
  StallReason,
  "Forbidden" | "Rejected" | "BranchOccupied" | "ProjectNotFound" | "BranchNotFound" | "ProjectLocked"
>;
