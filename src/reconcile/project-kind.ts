/** The port for kinds of resources whose changes compete with those of ComputeEndpoints. */
import type { WaitingChange } from "../decide/choose-mutation.ts";
import type { Identity } from "../decide/identity.ts";
import type { GrantOf, PlaneProblem } from "../decide/project-grant.ts";
import type { BranchObjects } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { OperationsSnapshot } from "../operations/known-operations.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";

/**
 * Another kind of resource than ComputeEndpoint, for instance DatabaseAccess. Its changes compete with those of the
 * project's ComputeEndpoints.
 */
export interface ProjectKind {
  /** Begins a reconcile of one project. */
  begin(start: KindRoundStart): KindRound;
}

/** The data that such a kind receives at the start of a reconcile. */
export interface KindRoundStart {
  /** The key of the project, with its control plane. */
  readonly key: string;
  readonly planeId: string;
  readonly identity: Identity;
  readonly grantOf: GrantOf;
  /** Why the control plane cannot be used; `undefined`: it can. */
  readonly problem: PlaneProblem | undefined;
  /** False: only deletions that leave everything in place are decided, see `ControlPlaneUnit`. */
  readonly isSettled: boolean;
  /** The start of the reconcile, in monotonic milliseconds. */
  readonly monotonicMs: number;
  /** The ComputeEndpoints that name the project. */
  readonly endpoints: readonly ComputeEndpoint[];
}

/** What the reconcile has read of the project in the control plane. */
export interface KindLook {
  readonly objects: BranchObjects;
  readonly snapshot: ProjectSnapshot;
  readonly operations: OperationsSnapshot;
  /** False: the project is locked, so this reconcile sends no change. */
  readonly mayChange: boolean;
}

/** The functions with which such a kind sends the one change of a reconcile. */
export interface KindChange {
  /**
   * Waits until the request budget allows one request. Call it before the last checks. @returns false if the wait was so
   * long that the change must be decided again. @throws ControlPlaneError
   */
  readonly reserve: () => Promise<boolean>;
  /** Whether the control plane is still the one of the decision. Ask it after `reserve`: the wait may be long. */
  readonly isCurrent: () => boolean;
  /** The control plane for the one request that was reserved before. */
  readonly objects: BranchObjects;
}

/** The result of sending a change. */
export type KindSent =
  | { readonly kind: "Accepted"; readonly namespace: string; readonly operations: readonly Operation[] }
  /** The change failed. `retryAtMs` is the time of the next try, in monotonic milliseconds. */
  | { readonly kind: "Failed"; readonly error: ControlPlaneError; readonly retryAtMs: number }
  /** Nothing was sent, because the resource has changed since the decision. */
  | { readonly kind: "Outdated" };

/**
 * The resources of a further kind in one reconcile of one project. Its methods are the steps of that reconcile.
 * Errors: no method throws because of a single resource. The failure of one resource does not affect the others.
 */
export interface KindRound {
  /** The number of resources of this kind that the reconcile works on. */
  readonly size: number;
  /** Decides and stores everything that needs no control plane. */
  settleLocally(): Promise<void>;
  /** Whether a resource needs a read of the control plane now. */
  wantsLook(): boolean;
  /**
   * Returns the namespace of a resource that needs a read and has unfinished work, so that its reads go before polls;
   * `undefined`: there is none.
   */
  urgentNamespace(): string | undefined;
  /** Whether a resource waits to send a change. */
  isWaiting(): boolean;
  /** Reads what the decisions need besides the snapshot, and decides. */
  look(look: KindLook): Promise<void>;
  /** The changes that are decided and not sent yet. */
  wishes(): readonly WaitingChange[];
  /** Sends the chosen change of one resource, and stores the result. */
  change(uid: string, change: KindChange): Promise<KindSent>;
  /** Stores the results of all other decisions. @param changedUid the resource whose change was sent */
  settle(changedUid: string | undefined): Promise<void>;
  /** Reports in the status of the resources that the project cannot be read. */
  fail(error: ControlPlaneError, forMs: number): Promise<void>;
  /** Returns the earliest time at which a resource is due again although nothing changes, in monotonic milliseconds. */
  nextDueMs(): number;
}
