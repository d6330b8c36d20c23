/** What a reconcile uses of a control plane: its calls, its request budget and the memory of its projects. */
import type { Identity } from "../decide/identity.ts";
import type { GrantOf, PlaneProblem } from "../decide/project-grant.ts";
import type { BranchObjects } from "../domain/branch-objects.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import type { Caller } from "../domain/control-plane-requests.ts";
import type { Projects } from "./projects.ts";

/** Roles and databases of one control plane, with the request budget applied. */
export interface ObjectsAccess {
  /** Returns the port for one caller. Its requests wait for the request budget. */
  forCaller(caller: Caller): BranchObjects;
  /** The port for the one request that the caller has reserved before. */
  readonly reserved: BranchObjects;
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
  /** Roles and databases. @default the control plane has none, and further kinds are not reconciled */
  readonly objects?: ObjectsAccess | undefined;
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
