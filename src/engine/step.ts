/** What one reconcile knows of one resource, and its result. */
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Operation } from "../domain/operation.ts";
import type { Identity } from "../resource/identity.ts";
import type { GrantOf, PlaneProblem, ProjectGrant } from "./grant.ts";
import type { KindTypes } from "./kind-types.ts";
import type { Policy, ResourceMemory } from "./memory.ts";
import type { CommonPlan } from "./plan.ts";
import type { ProjectReads } from "./project-reads.ts";

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
