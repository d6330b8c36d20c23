/** The input of a decision about one ComputeEndpoint, and its plans: each is one next step. */
import type { PowerAction } from "../../domain/control-plane.ts";
import type { EndpointChanges, EndpointCreation, ObservedEndpoint, ProjectSnapshot } from "../../domain/endpoint.ts";
import type { Operation } from "../../domain/operation.ts";
import type { CommonPlan, Facts, Outcome, Step } from "../../engine/kind.ts";
import { remoteStateOf } from "../../engine/project-reads.ts";
import type { BranchPlace } from "../../resource/branch-place.ts";
import type { ComputeEndpoint } from "../../resource/compute-endpoint.ts";
import type { WaitReason } from "../../resource/conditions.ts";
import { ownershipOf } from "../../resource/identity.ts";
import type { ComputeEndpointStatus, CreateIntent, Ownership, PendingChange } from "../../resource/status-schema.ts";
import type { ProjectClaims } from "./claims.ts";

/** The types of the kind ComputeEndpoint. It remembers nothing of its own, and reads nothing but its project. */
export interface EndpointTypes {
  readonly resource: ComputeEndpoint;
  readonly status: ComputeEndpointStatus;
  readonly plan: EndpointPlan;
  readonly own: undefined;
  readonly answer: EndpointAnswer;
  readonly applied: undefined;
  readonly hint: undefined;
}

/** `endpoint` is `undefined` if a DELETE found nothing to delete. */
export interface EndpointAnswer {
  readonly endpoint: ObservedEndpoint | undefined;
  readonly operations: readonly Operation[];
}

export type EndpointFacts = Facts<EndpointTypes>;
export type EndpointStep = Step<EndpointTypes>;
export type EndpointOutcome = Outcome<EndpointTypes>;

/** What decisions need to know of one resource's operations. */
export interface OperationFacts {
  /** Operations that the operator's own calls started and that have not ended. */
  readonly ownInFlight: readonly Operation[];
  /** How long this process has seen operations lock the project without a pause, in milliseconds. */
  readonly inFlightForMs: number;
  /** Ids of failed operations that status or this reconcile's read shows. */
  readonly failedIds: ReadonlySet<string>;
  /** The newest operations of the endpoint, whatever started them. */
  readonly shown: readonly Pick<Operation, "status">[];
  /** Whether the newest operation of the endpoint is a suspend that succeeded. */
  readonly isSuspended: boolean;
}

export interface Observation extends EndpointFacts {
  /** The branch that spec names. @default by its id */
  readonly place?: BranchPlace;
  readonly snapshot: ProjectSnapshot;
  readonly claims: ProjectClaims;
  readonly operations: OperationFacts;
}

/** What `spec.disruption` says about the changes that drop connections. Absent in a plan: nothing differs, or no policy. */
export interface Ruling {
  /** The fields that must not be sent now. */
  readonly held: readonly string[];
  /** Every such change that is not carried out yet, also one that may be sent. @default there is none, or no policy */
  readonly change?: PendingChange;
  /** What the held fields wait for. `isEndless`: for idle, but the compute never is by itself. @default none is held */
  readonly wait?: { readonly reason: WaitReason; readonly message: string; readonly isEndless: boolean };
}

export const branchField = "spec.branchId";
export const sizeField = "spec.compute";

export type EndpointPlan =
  | {
      /** Stores the intent if status does not hold it yet, and then sends one POST. */
      readonly kind: "CreateEndpoint";
      readonly intent: CreateIntent;
      readonly creation: EndpointCreation;
      /** Hash of the managed fields in `creation`. */
      readonly hash: string;
    }
  | { readonly kind: "CloseIntent"; readonly cause: "NothingCreated" | "Abandoned" }
  | { readonly kind: "RecordOwnership"; readonly ownership: Ownership; readonly endpoint: ObservedEndpoint }
  | { readonly kind: "ForgetEndpoint"; readonly endpointId: string }
  /** Only shows the endpoint. `ignored`: what spec and annotations ask for in vain. */
  | { readonly kind: "Observe"; readonly endpoint: ObservedEndpoint; readonly ignored: readonly string[] }
  | {
      readonly kind: "UpdateEndpoint";
      readonly endpointId: string;
      readonly changes: EndpointChanges;
      readonly hash: string;
      /** Whether the control plane restarts the compute because of this change. */
      readonly restarts: boolean;
      /** Whether the control plane had accepted these values before, and another client changed them. @default no */
      readonly isCorrection?: boolean;
      readonly ruling?: Ruling;
    }
  | {
      readonly kind: "MoveEndpoint";
      readonly endpointId: string;
      readonly branchId: string;
      /** Whether the endpoint was on that branch before, and another client moved it. @default no */
      readonly isCorrection?: boolean;
      readonly ruling?: Ruling;
    }
  | {
      readonly kind: "DeleteEndpoint";
      readonly endpointId: string;
      /** Milliseconds until the operator looks again, after the control plane accepted the DELETE. */
      readonly lookAgainMs: number;
    }
  | {
      readonly kind: "ChangePower";
      readonly endpointId: string;
      readonly action: PowerAction;
      readonly echo: PowerEcho;
    }
  | {
      readonly kind: "Settled";
      /** Managed fields that the control plane accepted but does not show. */
      readonly unverifiable: readonly string[];
      /** Values of power annotations that need no call. @default none */
      readonly echo?: PowerEcho;
      readonly ruling?: Ruling;
      /** Milliseconds until a schedule begins or ends, or the wait may end. @default no time is known */
      readonly dueInMs?: number;
    };

/** The values of handled power annotations, as status repeats them. Absent members stay as they are. */
export type PowerEcho = Pick<ComputeEndpointStatus, "lastHandledWakeAt" | "lastHandledSuspendAt">;

export type Plan = EndpointPlan | CommonPlan;

export type PlanOf<Kind extends EndpointPlan["kind"]> = Extract<EndpointPlan, { kind: Kind }>;

/** Asks for a read of an endpoint by id, because a list does not prove enough. */
export function lookAt(endpointId: string): Plan {
  return { kind: "Look", at: "Endpoint", endpointId };
}

/** Plans to store an ownership record. If only a list shows the endpoint, it is read by id first. */
export function recordOwnership(
  observation: Observation,
  endpoint: ObservedEndpoint,
  origin: Ownership["origin"],
): Plan {
  return remoteStateOf(observation.snapshot, endpoint.id).kind === "Present"
    ? { kind: "RecordOwnership", ownership: ownershipOf(observation, endpoint, origin), endpoint }
    : lookAt(endpoint.id);
}

export function rulingIn(plan: Plan | undefined): Ruling | undefined {
  return plan && "ruling" in plan ? plan.ruling : undefined;
}

export const deletingMessage = "The endpoint is being deleted. The operator waits for proof that it is gone.";

export function waitingMessage(inFlight: readonly Pick<Operation, "action">[]): string {
  const actions = [...new Set(inFlight.map(({ action }) => action))].sort();
  return `Waiting for ${actions.join(", ")} to end.`;
}
