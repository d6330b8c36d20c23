/** The port of a kind: what a kind of resource tells the engine. The engine knows no kind. */
import type { ControlPlane } from "../domain/control-plane.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import type { ResourceEvent, ResourceStore } from "../domain/resource-store.ts";
import type { HistoryRange } from "../operations/reader.ts";
import type { OperationLogStep } from "../operations/reduce-operations.ts";
import type { KindTypes } from "./kind-types.ts";
import type { Facts, PlanOf, ProjectFacts, Reads, Step } from "./step.ts";

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
 * One kind in one reconcile. What a kind does not have, it leaves out. All methods are pure, but for `observe`, `tryWrites`, `send`, `apply` and `release`.
 * Errors: those five throw ControlPlaneError and KubernetesError.
 */
export interface KindInProject<T extends KindTypes> {
  /** A text of what the decisions depend on besides resource, grant and control plane. With another one it is due. */
  markOf?(resource: T["resource"]): string;
  /** Whether a deletion has something to do in the control plane. `Retained`: it has, but spec keeps it. */
  heldBy(resource: T["resource"]): "Nothing" | "Retained" | "Something";
  /** The remedy if the records in status prove nothing; `undefined`: they do, or there are none. */
  unprovenRecords?(resource: T["resource"]): string | undefined;
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
  /** Asks the API server whether it would accept what follows from the change. @returns why it would not */
  tryWrites?(step: Step<T>): Promise<T["applied"] | undefined>;
  /** The status to store before the change is sent; `undefined`: nothing must be stored. */
  noteOf(step: Step<T>): T["status"] | undefined;
  /** Sends exactly one request. */
  send(step: Step<T>, to: ControlPlane): Promise<T["answer"]>;
  /** Writes the Kubernetes objects of a plan, or of the answer to a change. */
  apply?(step: Step<T>): Promise<T["applied"] | undefined>;
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
