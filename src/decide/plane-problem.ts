import type { PlaneStallReason } from "../resource/conditions.ts";

/** Why the control plane that a resource names cannot be used. Nothing is created, changed or deleted meanwhile. */
export interface PlaneProblem {
  readonly reason: PlaneStallReason;
  /** What happened and what to do. It contains nothing that the namespaces which use the control plane may not see. */
  readonly message: string;
}
