/** The ports of a reconcile: control planes, stores, reports, and further kinds of resources. */

import type { Identity } from "../decide/identity.ts";
import type { Policy } from "../decide/observation.ts";
import type { GrantOf, PlaneProblem } from "../decide/project-grant.ts";
import type { Clock } from "../domain/clock.ts";
import type { BranchObjects, Caller, ControlPlane } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { ResourceStore } from "../domain/resource-store.ts";
import type { WorkerSlot } from "../domain/worker.ts";
import type { OperationsSnapshot } from "../operations/known-operations.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { Projects, WaitingChange } from "./project-memory.ts";
import type { ReportTargets } from "./report.ts";

/** The stores, control planes, reports and settings that every step of a reconcile uses. */
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

/** The control plane as one reconcile of one project uses it. Each call gives the worker back while it waits. */
export interface ProjectCalls {
  /** Its requests wait for the request budget. */
  readonly controlPlane: ControlPlane;
  /**
   * Reserves the request for the one change of this reconcile, and waits until the request budget allows it. Further calls
   * share that reservation.
   * @throws ControlPlaneError after a bounded wait
   */
  readonly reserve: () => Promise<void>;
  /** The control plane for the request that was reserved. */
  readonly reserved: ControlPlane;
  /** Keeps the worker while the statuses of many resources are stored. */
  readonly whileWorking: WorkerSlot["whileWorking"];
  /**
   * Whether the control plane is still the one that this reconcile began with, and can be used. Ask it after `reserve`:
   * the wait may be long.
   */
  readonly isCurrent: () => boolean;
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
  makeUrgent(project: string): void;
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
  /**
   * False: the operator does not know yet how the control plane is described. Until then it only carries out deletions
   * that leave everything in the control plane in place.
   */
  readonly isKnown: boolean;
}

/**
 * Another kind of resource than ComputeEndpoint, for instance DatabaseAccess. Its changes compete with those of the
 * project's ComputeEndpoints.
 */
export interface ProjectKind {
  begin(start: KindRoundStart): KindRound;
}

/** The data that a further kind receives at the start of a reconcile. */
export interface KindRoundStart extends Pick<ControlPlaneUnit, "grantOf" | "problem" | "isKnown"> {
  /** The key of the project, with its control plane. */
  readonly key: string;
  readonly planeId: string;
  readonly identity: Identity;
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

/** The functions with which a further kind sends the one change of a reconcile. */
export interface KindChange extends Pick<ProjectCalls, "isCurrent"> {
  /**
   * Waits until the request budget allows one request. Call it before the last checks. @returns false if the wait was so
   * long that the change must be decided again. @throws ControlPlaneError
   */
  readonly reserve: () => Promise<boolean>;
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
