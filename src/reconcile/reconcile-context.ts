/** The parts that reconciles use. */
import type { Policy } from "../decide/resource-memory.ts";
import type { BranchObjects } from "../domain/branch-objects.ts";
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import type { ResourceStore } from "../domain/resource-store.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { ControlPlaneUnit } from "./control-plane-access.ts";
import type { ProjectKind } from "./project-kind.ts";
import type { ReportTargets } from "./report.ts";

/** The parts that every step of a reconcile uses. */
export interface ReconcileContext extends ReportTargets {
  readonly clock: Clock;
  /** Returns a random number from 0 up to 1. It spreads retries and polls over time. */
  readonly random: () => number;
  readonly store: ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;
  /** Returns the unit of a control plane by its id. If the control plane does not exist, its unit has a problem. */
  readonly unitOf: (planeId: string) => ControlPlaneUnit;
  /** Further kinds of resources. @default none */
  readonly kinds?: readonly ProjectKind[];
  readonly policy: Policy;
  readonly projectPollMs: number;
}

/** The parts that the step "act" of a reconcile uses in addition. */
export interface CarryOutContext extends ReconcileContext {
  readonly controlPlane: ControlPlane;
  /** Waits until the request budget allows one change. @throws ControlPlaneError after a bounded wait */
  readonly reserve: () => Promise<void>;
  /** Whether the control plane is still the one that this reconcile began with, and can be used. */
  readonly isCurrent: () => boolean;
  /** The control plane for the one change that was reserved before. */
  readonly reserved: ControlPlane;
  /** Roles and databases, for reads and for the one change. `undefined`: there are no further kinds. */
  readonly objects: BranchObjects | undefined;
  readonly reservedObjects: BranchObjects | undefined;
}
