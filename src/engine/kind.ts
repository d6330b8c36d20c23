/** The ports of the engine. The first is that of a kind: what it tells the engine, what it learns, and its plans. */
import type { Clock } from "../domain/clock.ts";
import type { Caller, ControlPlane } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import type { Logger, Tracer } from "../domain/logger.ts";
import type { Operation, OperationMetrics } from "../domain/operation.ts";
import type { EventRecorder, ResourceEvent, ResourceStore } from "../domain/resource-store.ts";
import type { HistoryRange } from "../operations/reader.ts";
import type { OperationLogStep } from "../operations/reduce-operations.ts";
import type { Keeper } from "../resource/bookkeeping.ts";
import type { AnyProgressReason, AnyStallReason } from "../resource/conditions.ts";
import type { Identity } from "../resource/identity.ts";
import type { Condition } from "../resource/status-schema.ts";
import type { ParsedAs, StoredObject } from "../resource/stored-object.ts";
import type { GrantOf, PlaneProblem, ProjectGrant } from "./grant.ts";
import type { Policy, Projects, ResourceMemory } from "./memory.ts";
import type { ProjectReads } from "./project-reads.ts";

export interface Kind<T extends KindTypes> {
  readonly finalizer: string;
  readonly store: ResourceStore<T["resource"], T["status"]>;
  /** The resources that the reconcile of this key works on. A resource belongs to one key at a time. */
  resourcesOf(project: Pick<ProjectFacts, "key" | "projectId">): readonly T["resource"][];
  begin(project: ProjectFacts): KindInProject<T>;
}

/** What the engine must know of a plan that only its kind has. */
export interface PlanTraits {
  /** `Apply` writes Kubernetes objects, `Rest` only the status. */
  readonly shape: "Change" | "Apply" | "Rest";
  /** Names what a change sends. It is sent only if the newest resource leads to the same name. @default "" */
  readonly name?: string;
  /** Names the note of a change that is a create: its answer must not be lost. @default it is none */
  readonly attempt?: string | undefined;
  /** Events that announce the change. @default none */
  readonly announced?: readonly ResourceEvent[];
}

export interface ShownLog {
  /** Where reading begins; `undefined`: nothing was counted yet, and no older page is read. */
  readonly since: HistoryRange | undefined;
}

/**
 * One kind in one reconcile. What a kind does not have, it leaves out. All methods are pure, but for `observe`, `tryWrites`, `send`, `apply` and `release`;
 * and if two resources would record one endpoint in one reconcile, `decide` lets only the first do so.
 * Errors: those five throw ControlPlaneError and KubernetesError.
 */
export interface KindInProject<T extends KindTypes> {
  /** A text of what the decisions depend on besides resource, grant and control plane. With another one it is due. */
  basisOf?(resource: T["resource"]): string;
  /** Whether a deletion has something to do in the control plane. `Retained`: it has, but spec keeps it. */
  deletionWork(resource: T["resource"]): "Nothing" | "Retained" | "Something";
  /** Whether the finalizer is stored before anything is read. A resource for which nothing is sent needs none. @default true */
  isGuarded?(resource: T["resource"]): boolean;
  /** Whether the kind decides about a paused resource too: it must be kept from its expiry. @default no */
  isKeptWhilePaused?(resource: T["resource"]): boolean;
  /** Whether the records in status were made for the resource, here, or there are none. @default yes */
  isProven?(resource: T["resource"]): boolean;
  /** The right that the resource needs and does not have, as a message; `undefined`: none is missing. */
  missingGrant(resource: T["resource"]): string | undefined;
  /** What of the operation log is shown although the plan may need no control plane; `undefined`: nothing. */
  shownLog?(resource: T["resource"]): ShownLog | undefined;
  decide(facts: Facts<T>, reads: Reads<T>): PlanOf<T>;
  traitsOf(plan: T["plan"]): PlanTraits;
  /** Names the note of a create that status holds without a result; `undefined`: there is none. */
  openAttempt(resource: T["resource"]): string | undefined;
  /** Whether status holds the result of that create. @default whether it no longer names the note */
  hasResult?(resource: T["resource"]): boolean;
  observe?(facts: Facts<T>, reads: Reads<T>, from: ControlPlane | undefined): Promise<T["own"]>;
  /** Asks the API server whether it would accept what follows from the change. */
  tryWrites?(step: Step<T>): Promise<void>;
  /** The status to store before the change is sent; `undefined`: nothing must be stored. */
  noteOf(step: Step<T>): T["status"] | undefined;
  /** Sends exactly one request. */
  send(step: Step<T>, to: ControlPlane): Promise<T["answer"]>;
  /** Writes the Kubernetes objects of a plan, or of the answer to a change. */
  apply?(step: Step<T>): Promise<T["applied"] | undefined>;
  /** What the process remembers. Asked after the answer to a change, before `apply`, and again after the status is stored. */
  hintAfter?(step: Step<T>): T["hint"] | undefined;
  /** What changes in status and metrics by the operation log; `undefined`: no operation belongs to this kind. */
  logOf?(step: Step<T>): OperationLogStep | undefined;
  /** @param log `undefined`: no operation belongs to this kind */
  statusOf(step: Step<T>, log: OperationLogStep | undefined): T["status"];
  /** Milliseconds until the resource is due again, if the plan does not say it; `undefined`: at the next poll or change. */
  dueInMs(step: Step<T>): number | undefined;
  /** @param next the status that was stored; `undefined`: the finalizer goes, and the resource with it */
  eventsOf?(step: Step<T>, next: T["status"] | undefined): readonly ResourceEvent[];
  /** Removes what belongs to the resource in Kubernetes. The finalizer goes after that. */
  release?(resource: T["resource"]): Promise<void>;
  /** Ids of listed endpoints that this cluster created and that belong to no resource. @default none */
  orphansIn?(snapshot: ProjectSnapshot): readonly string[];
}

export type MemoryOf<T extends KindTypes> = ResourceMemory<T["answer"], T["hint"]>;

export type PlanOf<T extends KindTypes> = T["plan"] | CommonPlan;

/** What the engine knows of one resource without a read of the control plane. */
export interface Facts<T extends KindTypes>
  extends Pick<ProjectFacts, "nowMs" | "monotonicMs" | "identity" | "policy"> {
  readonly resource: T["resource"];
  readonly memory: Readonly<MemoryOf<T>>;
  /** What the namespace may do in the project of this reconcile. */
  readonly grant: ProjectGrant;
  /** Whether the resource is due, and not only decided because the project is read. */
  readonly isDue: boolean;
  /** Whether the resource, or what its decisions depend on, has changed since it was last decided. */
  readonly isChanged: boolean;
}

/** What has been read so far. A kind asks for more with the plan `Look`. */
export interface Reads<T extends KindTypes> {
  readonly project?: ProjectReads;
  readonly own?: T["own"];
}

export type Outcome<T extends KindTypes> =
  | { readonly kind: "NothingSent" }
  | { readonly kind: "Applied"; readonly applied: T["applied"] }
  /** The control plane accepted the change. `applied`: the objects that were written because of the answer. */
  | { readonly kind: "Accepted"; readonly answer: T["answer"]; readonly applied?: T["applied"] | undefined }
  /** Another change of the project comes first or still runs. This is no failure. */
  | { readonly kind: "Deferred"; readonly waitedMs: number }
  /** A read or a change failed, or an earlier failure still holds the change back. */
  | {
      readonly kind: "Failed";
      readonly error: ControlPlaneError;
      /** Milliseconds since the first of these equal failures. */
      readonly forMs: number;
      /** The operation that locks the project; `undefined`: the operation log does not show it. */
      readonly lockHolder: Operation | undefined;
    };

/** The result of one reconcile for one resource. */
export interface Step<T extends KindTypes> {
  readonly facts: Facts<T>;
  readonly reads: Reads<T>;
  /** `undefined`: nothing could be decided, because a read failed. */
  readonly plan: PlanOf<T> | undefined;
  readonly outcome: Outcome<T>;
}

export interface ProjectFacts {
  /** The key of the project, with its control plane. */
  readonly key: string;
  readonly planeId: string;
  readonly projectId: string;
  readonly identity: Identity;
  readonly policy: Policy;
  /** Epoch milliseconds of the operator's clock: for timestamps, windows and schedules, never for how long a call waits. */
  readonly nowMs: number;
  /** The start of the reconcile, in monotonic milliseconds. */
  readonly monotonicMs: number;
  readonly grantOf: GrantOf;
  readonly problem: PlaneProblem | undefined;
}

export type ReleaseCause = "Gone" | "Retained" | "NeverCreated" | "ProjectGone" | "Observed";

/** The next step of one resource. One plan has at most one effect on the control plane. */
export type CommonPlan =
  /** Asks for operations and endpoints of the project, and to be decided again. */
  | { readonly kind: "Look"; readonly at: "Project" }
  /** Asks for an endpoint of the project by id, and to be decided again. */
  | { readonly kind: "Look"; readonly at: "Endpoint"; readonly endpointId: string }
  /** Asks for what the kind's `observe` reads, and to be decided again. */
  | { readonly kind: "Look"; readonly at: "Own" }
  | {
      readonly kind: "Wait";
      readonly reason: AnyProgressReason;
      readonly message: string;
      /** Milliseconds until the resource is due again; `undefined`: when something changes. */
      readonly waitMs: number | undefined;
    }
  | { readonly kind: "Stall"; readonly reason: AnyStallReason; readonly message: string }
  | { readonly kind: "RemoveFinalizer"; readonly cause: ReleaseCause }
  /** Nothing is to be done or reported. */
  | { readonly kind: "Idle"; readonly dueInMs: number | undefined };

const commonKinds: ReadonlySet<string> = new Set<CommonPlan["kind"]>([
  ...(["Look", "Wait", "Stall", "RemoveFinalizer", "Idle"] as const),
]);

/** @returns `undefined`: only its kind has this plan */
export function commonPlan(plan: { readonly kind: string } | undefined): CommonPlan | undefined {
  return plan !== undefined && commonKinds.has(plan.kind) ? (plan as CommonPlan) : undefined;
}

export function ownPlan<Plan extends { readonly kind: string }>(plan: Plan | CommonPlan | undefined): Plan | undefined {
  return plan !== undefined && commonPlan(plan) === undefined ? (plan as Plan) : undefined;
}

export type CommonPlanOf<Kind extends CommonPlan["kind"]> = Extract<CommonPlan, { kind: Kind }>;

export function stall(reason: AnyStallReason, message: string): CommonPlanOf<"Stall"> {
  return { kind: "Stall", reason, message };
}

export function wait(reason: AnyProgressReason, message: string, waitMs?: number): CommonPlanOf<"Wait"> {
  return { kind: "Wait", reason, message, waitMs };
}

export interface KindStatus extends Keeper {
  readonly observedGeneration?: number | undefined;
  readonly lastHandledReconcileAt?: string | undefined;
  readonly conditions?: Condition[] | undefined;
}

export interface KindResource extends StoredObject {
  readonly spec: ParsedAs<unknown>;
  readonly status: KindStatus;
}

export interface KindTypes {
  readonly resource: KindResource;
  readonly status: KindStatus;
  /** The plans that only this kind has. */
  readonly plan: { readonly kind: string };
  /** What its `observe` reads besides operations and endpoints. */
  readonly own: unknown;
  /** The answer to one of its changes. */
  readonly answer: { readonly operations: readonly Operation[] };
  /** What its `apply` wrote to Kubernetes. */
  readonly applied: unknown;
  /** What it remembers of a resource. Losing it must be safe. */
  readonly hint: unknown;
}

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
  /** False: the operator does not know yet how the control plane is described. Until then it decides nothing. */
  readonly isKnown: boolean;
}
