import type { Identity } from "../decide/identity.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import type { Caller } from "../domain/request-budget.ts";

/** One control plane, as the reconcile uses it. */
export interface ControlPlaneAccess {
  readonly identity: Identity;
  /** The control plane for one caller. Its requests wait for the request budget. */
  forCaller(caller: Caller): ControlPlane;
  /**
   * Waits until the request budget allows one request. A change takes its place before its last checks, because it may
   * wait for long.
   *
   * @throws ControlPlaneError with reason `Throttled` after a bounded wait
   */
  reserve(caller: Caller): Promise<void>;
  /** The control plane for the one request of a reservation. */
  readonly reserved: ControlPlane;
  /** The number of projects that the request budget lets the operator poll in a minute. */
  readonly pollsPerMinute: number;
}
