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
import type { OperationsSnapshot } from "../operations/snapshot.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { Projects, WaitingChange } from "./project-memory.ts";
import type { ReportTargets } from "./report.ts";

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
  /** Whether to forget the whole project before this reconcile. Only the simulation sets it. @default never */
  readonly forgets?: (() => boolean) | undefined;
}

export interface ControlPlaneAccess {
  readonly identity: Identity;
  /** Returns the calls of one reconcile. All of them use one API key. */
  forCaller(caller: Caller): CallerAccess;
  /** The number of projects that the request budget lets the operator poll in a minute. */
  readonly pollsPerMinute: number;
  /** Makes the waiting requests of a project urgent, because something about its resources has changed. */
  makeUrgent(project: string): void;
  /** Refuses all requests that wait for the request budget, because the process stops. */
  stopWaiting(): void;
}

export interface CallerAccess {
  /** Its requests wait for the request budget, but for a change that was reserved before. */
  readonly controlPlane: ControlPlane;
  /**
   * Waits until the request budget allows one change, and keeps it for the next one. A change is reserved before its last
   * checks, because this wait may be long.
   * @throws ControlPlaneError with reason `Throttled` after a bounded wait
   */
  reserve(): Promise<void>;
  /** Returns a text that differs for each API key, and does not show the key. */
  keyMark(): Promise<string>;
}

/** What the projects of one control plane share. Control planes share nothing, so one that hangs delays no other. */
export interface ControlPlaneUnit {
  /** The id of the control plane, as in the keys of projects. */
  readonly id: string;
  readonly access: ControlPlaneAccess | undefined;
  /** If the control plane cannot be used, its URL is unknown, and the identity has only the cluster. */
  readonly identity: Identity;
  readonly projects: Projects;
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
  /** Forgets everything about the resources of a project. @param key the key of the project, with its control plane */
  forget(key: string): void;
}

export interface FailedRead {
  readonly error: ControlPlaneError;
  /** Milliseconds since the first of these equal failures. */
  readonly forMs: number;
  /** Whether the project was deleted: for a minute it answers 404 to the key that has listed it before. */
  readonly isProjectGone: boolean;
}

export interface KindRoundStart extends Pick<ControlPlaneUnit, "grantOf" | "problem" | "isKnown"> {
  /** The key of the project, with its control plane. */
  readonly key: string;
  readonly planeId: string;
  readonly identity: Identity;
  /** The start of the reconcile, in monotonic milliseconds. */
  readonly monotonicMs: number;
  readonly endpoints: readonly ComputeEndpoint[];
}

/**
 * The resources of one kind in one reconcile of one project. The project's reconcile calls these methods for each kind,
 * in the order of its steps. First it calls them for ComputeEndpoint (`EndpointRound`).
 * Errors: only `look` throws. The failure of one resource does not affect the others.
 */
export interface KindRound {
  decideLocally(): Promise<void>;
  /**
   * Chooses the resources to decide about, if this reconcile reads the project.
   * @param isPoll whether the regular poll of the project is due
   * @returns whether a resource needs that read now
   */
  chooseDue(isPoll: boolean): boolean;
  /** Whether the reads are urgent: a chosen resource has unfinished work, or a person asked for it. */
  isUrgent(): boolean;
  /**
   * Whether a person has edited a chosen resource or asked for its reconcile. Then a read that was refused before may
   * succeed.
   */
  mayEndRefusal(): boolean;
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
  fail(failed: FailedRead): Promise<void>;
  /** Returns the earliest time at which a resource is due again although nothing changes, in monotonic milliseconds. */
  nextDueMs(): number;
}

export interface KindLook {
  readonly controlPlane: ControlPlane;
  readonly snapshot: ProjectSnapshot;
  readonly operations: OperationsSnapshot;
  /** False: the project is locked, so this reconcile sends no change. */
  readonly mayChange: boolean;
}

export interface KindChange {
  /**
   * Waits until the request budget allows one request. Call it before the last checks, because the wait may be long.
   * @throws ControlPlaneError
   */
  readonly reserve: () => Promise<void>;
  /** Sends the one change that was reserved before. */
  readonly controlPlane: ControlPlane;
  /**
   * Whether the control plane is still the one that this reconcile began with, and can be used. Ask it after `reserve`:
   * the wait may be long.
   */
  readonly isCurrent: () => boolean;
  /** Updates the project memory after a change was sent. Do not call it if nothing was sent. */
  readonly noteSent: (sent: KindSent) => void;
}

export type KindSent =
  | { readonly kind: "Accepted"; readonly namespace: string; readonly operations: readonly Operation[] }
  /** The change failed. `retryAtMs` is the time of the next try, in monotonic milliseconds. */
  | { readonly kind: "Failed"; readonly error: ControlPlaneError; readonly retryAtMs: number };
