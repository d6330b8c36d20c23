/** The ports of a reconcile: control planes, stores, reports, and further kinds of resources. */

import type { Identity } from "../decide/identity.ts";
import type { Policy } from "../decide/observation.ts";
import type { GrantOf, PlaneProblem } from "../decide/project-grant.ts";
import type { Clock } from "../domain/clock.ts";
import type { Caller, ControlPlane } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { ResourceStore } from "../domain/resource-store.ts";
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
  /** Makes the waiting requests of a project urgent, because something about its resources has changed. */
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
 * A kind of resource beside ComputeEndpoint, for instance DatabaseAccess. Its changes compete with those of the
 * project's ComputeEndpoints.
 */
export interface ProjectKind {
  /** Begins a reconcile. @returns `undefined` if the reconcile works on no resource of this kind */
  begin(start: KindRoundStart): KindRound | undefined;
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

/**
 * The resources of one kind in one reconcile of one project. The project's reconcile calls these methods for each kind,
 * in the order of its steps. First it calls them for ComputeEndpoint (`EndpointRound`).
 * Errors: only `look` throws. The failure of one resource does not affect the others.
 */
export interface KindRound {
  /** Decides and stores everything that needs no control plane. */
  decideLocally(): Promise<void>;
  /**
   * Chooses the resources to decide about, if this reconcile reads the project.
   * @param isPoll whether the regular poll of the project is due
   * @returns whether a resource needs that read now
   */
  chooseDue(isPoll: boolean): boolean;
  /** Returns the caller of the reads for the chosen resources; `undefined`: this kind needs no read. */
  caller(): Omit<Caller, "project"> | undefined;
  /**
   * Whether a person has edited a chosen resource or asked for its reconcile. Then a read that was refused before may
   * succeed.
   */
  mayEndRefusal(): boolean;
  /** Whether a resource waits to send a change. */
  isWaiting(): boolean;
  /**
   * Reads what the decisions of this kind need in addition to `look`, such as endpoints by id, roles and databases.
   * Then it decides.
   * @throws ControlPlaneError if the project cannot be read
   */
  look(look: KindLook): Promise<void>;
  /** The changes that wait to be sent. Some were decided in an earlier reconcile. */
  wishes(): readonly WaitingChange[];
  /** Whether the change of a resource may be sent now. A decision of an earlier reconcile is made again. */
  isStillWanted(uid: string): Promise<boolean>;
  /** Sends the change of one resource, and stores the result. Call it after `isStillWanted`. */
  change(uid: string, change: KindChange): Promise<void>;
  /** Stores the results of all decisions of this reconcile but one. @param changedUid the resource whose change is sent */
  store(changedUid: string | undefined): Promise<void>;
  /** Reports in the status of the chosen resources that the project cannot be read. */
  fail(error: ControlPlaneError, forMs: number): Promise<void>;
  /** Returns the earliest time at which a resource is due again although nothing changes, in monotonic milliseconds. */
  nextDueMs(): number;
}

/** What the reconcile has read of the project in the control plane. */
export interface KindLook {
  readonly controlPlane: ControlPlane;
  readonly snapshot: ProjectSnapshot;
  readonly operations: OperationsSnapshot;
  /** Whether changes wait since an earlier reconcile. */
  readonly isWaiting: boolean;
  /** False: the project is locked, so this reconcile sends no change. */
  readonly mayChange: boolean;
}

/** The functions with which a kind sends the one change of a reconcile. */
export interface KindChange {
  /**
   * Waits until the request budget allows one request. Call it before the last checks. @returns false if the wait was so
   * long that the change must be decided again. @throws ControlPlaneError
   */
  readonly reserve: () => Promise<boolean>;
  /** The control plane for the one request that was reserved before. */
  readonly controlPlane: ControlPlane;
  /**
   * Whether the control plane is still the one that this reconcile began with, and can be used. Ask it after `reserve`:
   * the wait may be long.
   */
  readonly isCurrent: () => boolean;
  /** Updates the project memory after a change was sent. Do not call it if nothing was sent. */
  readonly noteSent: (sent: KindSent) => void;
}

/** The result of sending a change. */
export type KindSent =
  | { readonly kind: "Accepted"; readonly namespace: string; readonly operations: readonly Operation[] }
  /** The change failed. `retryAtMs` is the time of the next try, in monotonic milliseconds. */
  | { readonly kind: "Failed"; readonly error: ControlPlaneError; readonly retryAtMs: number };
