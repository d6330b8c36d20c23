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
  /** Uniform in [0, 1); spreads what would otherwise happen all at once. */
  readonly random: () => number;
  readonly store: ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;
  readonly projects: Projects;
  /** The control plane of a project. Today every project has the one of the settings. */
  readonly accessFor: (projectId: string) => ControlPlaneAccess;
  /** What a namespace may do in a project, as the grants are now. @default everything */
  readonly grantOf?: GrantOf;
  /** Further kinds of resources. @default none */
  readonly kinds?: readonly ProjectKind[];
  readonly policy: Policy;
  readonly projectPollMs: number;
}

/** What carrying out needs. */
export interface CarryOutContext extends ReconcileContext {
  readonly controlPlane: ControlPlane;
  /** Waits for the place of one change in the request budget. @throws ControlPlaneError after a bounded wait */
  readonly reserve: () => Promise<void>;
  /** The control plane for that one change. */
  readonly reserved: ControlPlane;
  /** Roles and databases: for reads, and for that one change. `undefined`: there are no further kinds. */
  readonly objects: BranchObjects | undefined;
  readonly reservedObjects: BranchObjects | undefined;
}
