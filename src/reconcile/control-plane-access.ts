import type { Identity } from "../decide/identity.ts";
import type { PlaneProblem } from "../decide/plane-problem.ts";
import type { GrantOf } from "../decide/project-grant.ts";
import type { BranchObjects } from "../domain/branch-objects.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import type { Caller } from "../domain/request-budget.ts";
import type { Projects } from "./projects.ts";

/** Roles and databases of one control plane, with the request budget applied. */
export interface ObjectsAccess {
  /** Returns the port for one caller. Its requests wait for the request budget. */
  forCaller(caller: Caller): BranchObjects;
  /** The port for the one request that `reserve` has paid for. */
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
  /** The control plane for the one request that `reserve` has paid for. */
  readonly reserved: ControlPlane;
  /** Roles and databases. @default the control plane has none, and further kinds are not reconciled */
  readonly objects?: ObjectsAccess | undefined;
  /** The number of projects that the request budget lets the operator poll in a minute. */
  readonly pollsPerMinute: number;
}

/**
 * One control plane with everything that its projects share. Control planes share nothing with each other, so one that
 * hangs, refuses or throttles does not delay the others.
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
}
