import type { Identity } from "../decide/identity.ts";
import type { BranchObjects } from "../domain/branch-objects.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import type { Caller } from "../domain/request-budget.ts";

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
