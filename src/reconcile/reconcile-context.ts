/** The parts that reconciles use: control planes, stores and reports. */

import type { Identity } from "../decide/identity.ts";
import type { Policy } from "../decide/observation.ts";
import type { GrantOf, PlaneProblem } from "../decide/project-grant.ts";
import type { Clock } from "../domain/clock.ts";
import type { Caller, ControlPlane } from "../domain/control-plane.ts";
import type { ResourceStore } from "../domain/resource-store.ts";
import type { WorkerSlot } from "../domain/worker.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { ProjectKind } from "./project-kind.ts";
import type { Projects } from "./project-memory.ts";
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
  /** Keeps the worker while the statuses of many resources are stored. */
  readonly whileWorking: WorkerSlot["whileWorking"];
  /** Whether the control plane is still the one that this reconcile began with, and can be used. */
  readonly isCurrent: () => boolean;
  /** The control plane for the one change that was reserved before. */
  readonly reserved: ControlPlane;
}

/** One control plane, with the request budget applied. */
export interface ControlPlaneAccess {
  readonly identity: Identity;
  /** Returns the control plane for one caller. Its requests wait for the request budget. */
  forCaller(caller: Caller): ControlPlane;
  /**
   * Waits until the request budget allows one request. A change reserves its request before its last checks, because
   * this wait may be long.
   * @throws ControlPlaneError with reason `Throttled` after a bounded wait
   */
  reserve(caller: Caller): Promise<void>;
  /** The control plane for the one request that the caller has reserved before. */
  readonly reserved: ControlPlane;
  /** The number of projects that the request budget lets the operator poll in a minute. */
  readonly pollsPerMinute: number;
  /** Makes the waiting requests of a project urgent, because one of its resources was edited. */
  hurry(project: string): void;
  /** Refuses all requests that wait for the request budget, because the process stops. */
  stopWaiting(): void;
}

/**
 * One control plane with everything that its projects share.
 * Control planes share nothing with each other. So a control plane that hangs, refuses or throttles does not delay the
 * others.
 */
export interface ControlPlaneUnit {
  /** The id of the control plane, as in the keys of projects. */
  readonly id: string;
  /** The connected control plane; `undefined` only while there is a problem. */
  readonly access: ControlPlaneAccess | undefined;
  /** What this process remembers of the control plane's projects. */
  readonly projects: Projects;
  /** What a namespace may do in a project, as the grants are now. */
  readonly grantOf: GrantOf;
  /** Why the control plane cannot be used; `undefined`: it can. */
  readonly problem: PlaneProblem | undefined;
  /** False: it is not known yet how the control plane is described. Only deletions that leave everything in place go on. */
  readonly isSettled: boolean;
}
