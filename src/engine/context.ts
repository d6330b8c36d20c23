/** The ports of the engine: control planes, kinds, and where it reports. */
import type { Clock } from "../domain/clock.ts";
import type { Caller, ControlPlane } from "../domain/control-plane.ts";
import type { Logger, Tracer } from "../domain/logger.ts";
import type { OperationMetrics } from "../domain/operation.ts";
import type { EventRecorder } from "../domain/resource-store.ts";
import type { Identity } from "../resource/identity.ts";
import type { GrantOf, PlaneProblem } from "./grant.ts";
import type { Kind } from "./kind.ts";
import type { KindTypes } from "./kind-types.ts";
import type { Policy, Projects } from "./memory.ts";

export interface EngineContext {
  readonly clock: Clock;
  /** Returns a random number from 0 up to 1. It spreads retries and polls over time. */
  readonly random: () => number;
  readonly policy: Policy;
  readonly projectPollMs: number;
  /** Kinds whose changes compete in one project. The first one decides first. */
  readonly kinds: readonly Kind<KindTypes>[];
  /** Returns the unit of a control plane by its id. If the control plane does not exist, its unit has a problem. */
  readonly unitOf: (planeId: string) => ControlPlaneUnit;
  readonly events: EventRecorder;
  readonly metrics: OperationMetrics;
  readonly logger: Logger;
  /** Records a span for each resource. @default nothing is traced */
  readonly tracer?: Tracer | undefined;
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
