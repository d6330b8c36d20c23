import type { GrantOf } from "../decide/project-grant.ts";
import type { Policy } from "../decide/resource-memory.ts";
import type { BranchObjects } from "../domain/branch-objects.ts";
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import type { ResourceStore } from "../domain/resource-store.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { ControlPlaneAccess } from "./control-plane-access.ts";
import type { ProjectKind } from "./project-kind.ts";
import type { Projects } from "./projects.ts";
import type { ReportTargets } from "./report.ts";

/** What reconciling needs. */
export interface ReconcileContext extends ReportTargets {
  readonly clock: Clock;
  /** Returns a random number from 0 up to 1. It spreads retries and polls over time. */
  readonly random: () => number;
  readonly store: ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;
  readonly projects: Projects;
  /** Returns the control plane of a project. At present all projects use the control plane of the settings. */
  readonly accessFor: (projectId: string) => ControlPlaneAccess;
  /** Returns what a namespace may do in a project, by the grants as they are now. @default everything is allowed */
  readonly grantOf?: GrantOf;
  /** Further kinds of resources. @default none */
  readonly kinds?: readonly ProjectKind[];
  readonly policy: Policy;
  readonly projectPollMs: number;
}

/** What the step "act" of a reconcile needs. */
export interface CarryOutContext extends ReconcileContext {
  readonly controlPlane: ControlPlane;
  /** Waits until the request budget allows one change. @throws ControlPlaneError after a bounded wait */
  readonly reserve: () => Promise<void>;
  /** The control plane for the one change that `reserve` has paid for. */
  readonly reserved: ControlPlane;
  /** Roles and databases, for reads and for the one change. `undefined`: there are no further kinds. */
  readonly objects: BranchObjects | undefined;
  readonly reservedObjects: BranchObjects | undefined;
}
