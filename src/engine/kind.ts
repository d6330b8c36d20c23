/** The port of a kind: what a kind of resource tells the engine. The engine knows no kind. */
import type { ControlPlane } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { ResourceEvent, ResourceStore } from "../domain/resource-store.ts";
import type { HistoryRange } from "../operations/reader.ts";
import type { OperationLogStep } from "../operations/reduce-operations.ts";
import type { Condition, OperationWatermark } from "../resource/status-schema.ts";
import type { ParsedAs, StoredObject } from "../resource/stored-object.ts";
import type { GrantOf, PlaneProblem, ProjectGrant } from "./grant.ts";
import type { Identity } from "./identity.ts";
import type { Policy, ResourceMemory } from "./memory.ts";
import type { CommonPlan } from "./plan.ts";
import type { ProjectReads } from "./project-reads.ts";
import type { Wording } from "./summary.ts";

export interface KindStatus {
  readonly observedGeneration?: number | undefined;
  readonly lastHandledReconcileAt?: string | undefined;
  readonly conditions?: Condition[] | undefined;
  /** How far the operations of the resource are counted. @default no operation belongs to its kind */
  readonly operationWatermark?: OperationWatermark | undefined;
}

export interface KindResource extends StoredObject {
  readonly spec: ParsedAs<unknown>;
  readonly status: KindStatus;
}

/** The types of one kind. */
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

export type PlanOf<T extends KindTypes> = T["plan"] | CommonPlan;

/** What the engine knows of one resource without a read of the control plane. */
export interface Facts<T extends KindTypes> {
  /** Epoch milliseconds of the operator's clock: for timestamps that people read, never for an age. */
  readonly nowMs: number;
  /** The start of the reconcile, in monotonic milliseconds. */
  readonly monotonicMs: number;
  readonly identity: Identity;
  readonly policy: Policy;
  readonly resource: T["resource"];
  readonly memory: Readonly<ResourceMemory<T>>;
  /** What the namespace may do in the project of this reconcile. */
  readonly grant: ProjectGrant;
  /** Whether the resource is due, and not only decided because the project is read. */
  readonly isDue: boolean;
  /** Whether the resource, or what its decisions depend on, has changed since it was last decided. */
  readonly isChanged: boolean;
}

/** What has been read so far. A kind asks for more with the plan `Look`. */
export interface Reads<T extends KindTypes> {
  /** Operations and endpoints of the project. @default not read */
  readonly project?: ProjectReads;
  /** What the kind's `observe` has read. @default not read */
  readonly own?: T["own"];
}

export type Outcome<T extends KindTypes> =
  | { readonly kind: "NothingSent" }
  /** The plan wrote Kubernetes objects. */
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

/** What all resources of one reconcile share. */
export interface ProjectFacts {
  /** The key of the project, with its control plane. */
  readonly key: string;
  readonly planeId: string;
  readonly projectId: string;
  readonly identity: Identity;
  readonly policy: Policy;
  readonly nowMs: number;
  readonly monotonicMs: number;
  readonly grantOf: GrantOf;
  readonly problem: PlaneProblem | undefined;
  /** When the control plane last accepted a change of the project. @default none is remembered */
  readonly lastChangeMs?: number | undefined;
  /** Answers that no status holds yet, by the uid of their resource. */
  readonly answerOf: (uid: string) => unknown;
}

export interface Kind<T extends KindTypes> {
  readonly finalizer: string;
  readonly store: ResourceStore<T["resource"], T["status"]>;
  readonly wording: Wording;
  /** The resources that the reconcile of this key works on. A resource belongs to one key at a time. */
  resourcesOf(project: Pick<ProjectFacts, "key" | "projectId">): readonly T["resource"][];
  begin(project: ProjectFacts): KindInProject<T>;
}

/** The order in which the changes of a project are sent. */
export type Urgency = "Deletion" | "OpenCreate" | "Other";

/**
 * One kind in one reconcile. All methods are pure, but for `observe`, `tryWrites`, `send`, `apply` and `release`.
 * Errors: those five throw ControlPlaneError and KubernetesError.
 */
export interface KindInProject<T extends KindTypes> {
  /** A text of what the decisions depend on besides resource, grant and control plane. With another one it is due. */
  markOf(resource: T["resource"]): string;
  /** Whether a deletion has something to do in the control plane. `Retained`: it has, but spec keeps it. */
  heldBy(resource: T["resource"]): "Nothing" | "Retained" | "Something";
  /** The remedy if the records in status prove nothing; `undefined`: they do, or there are none. */
  unprovenRecords(resource: T["resource"]): string | undefined;
  /** The right that the resource needs and does not have, as a message; `undefined`: none is missing. */
  missingGrant(resource: T["resource"]): string | undefined;
  /** Whether the operations of the resource may be shown although its plan needs no control plane. */
  isShown(resource: T["resource"]): boolean;
  /** The part of the operation log that the resource needs; `undefined`: it needs none. */
  historyRange(resource: T["resource"]): HistoryRange | undefined;
  decide(facts: Facts<T>, reads: Reads<T>): PlanOf<T>;
  /** The plan of a resource that is being deleted and whose project was deleted before. */
  planProjectGone(resource: T["resource"]): PlanOf<T>;
  /** Whether a change, `Apply` or a plan that only changes status. */
  shapeOf(plan: T["plan"]): "Change" | "Apply" | "Rest";
  urgencyOf(resource: T["resource"]): Urgency;
  /** Names what a change sends. The engine sends it only if the newest resource leads to the same name. */
  nameOf(plan: T["plan"]): string;
  /** Names the note of a change that is a create: its answer must not be lost. `undefined`: it is none. */
  attemptOf(plan: T["plan"]): string | undefined;
  /** Names the note of a create that status holds without a result; `undefined`: there is none. */
  openAttempt(resource: T["resource"]): string | undefined;
  /** Whether status holds the result of that create. */
  hasResult(resource: T["resource"], attempt: string): boolean;
  observe(facts: Facts<T>, reads: Reads<T>, from: ControlPlane | undefined): Promise<T["own"]>;
  /** Asks the API server whether it would accept what follows from the change. @returns why it would not */
  tryWrites(step: Step<T>): Promise<T["applied"] | undefined>;
  /** The status to store before the change is sent; `undefined`: nothing must be stored. */
  noteOf(step: Step<T>): T["status"] | undefined;
  /** Removes that note, because nothing was sent; `undefined`: the status does not hold it. */
  withoutNote(current: T["resource"], step: Step<T>): T["status"] | undefined;
  /** Sends exactly one request. */
  send(step: Step<T>, to: ControlPlane): Promise<T["answer"]>;
  /** Writes the Kubernetes objects of a plan, or of the answer to a change. */
  apply(step: Step<T>): Promise<T["applied"] | undefined>;
  hintAfter(step: Step<T>): T["hint"] | undefined;
  /** What changes in status and metrics by the operation log; `undefined`: no operation belongs to this kind. */
  logOf(step: Step<T>): OperationLogStep | undefined;
  /** @param log `undefined`: no operation belongs to this kind */
  statusOf(step: Step<T>, log: OperationLogStep | undefined): T["status"];
  /** Milliseconds until the resource is due again; `undefined`: at the next poll or change. */
  dueInMs(step: Step<T>): number | undefined;
  eventsBefore(plan: T["plan"]): readonly ResourceEvent[];
  eventsAfter(step: Step<T>, next: T["status"]): readonly ResourceEvent[];
  /** Removes what belongs to the resource in Kubernetes. The finalizer goes after that. */
  release(resource: T["resource"]): Promise<void>;
  releaseEvents(step: Step<T>): readonly ResourceEvent[];
  /** Ids of listed endpoints that this cluster created and that belong to no resource. @default none */
  orphansIn?(snapshot: ProjectSnapshot): readonly string[];
}
