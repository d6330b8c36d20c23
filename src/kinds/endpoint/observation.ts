/** The input of a decision about one ComputeEndpoint. */
import type { ObservedEndpoint, ProjectSnapshot } from "../../domain/endpoint.ts";
import type { Operation } from "../../domain/operation.ts";
import type { Facts, Outcome, Step } from "../../engine/kind.ts";
import type { BranchPlace } from "../../resource/branch-place.ts";
import type { ComputeEndpoint } from "../../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../../resource/status-schema.ts";
import type { ProjectClaims } from "./claims.ts";
import type { EndpointPlan } from "./plan.ts";

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
  /** The hash of the managed fields that a create sent. @default no create */
  readonly hash?: string;
}

export type EndpointFacts = Facts<EndpointTypes>;
export type EndpointStep = Step<EndpointTypes>;
export type EndpointOutcome = Outcome<EndpointTypes>;

/** What decisions need to know of one resource's operations. */
export interface OperationFacts {
  /** Operations that the operator's own calls started and that have not ended. */
  readonly ownInFlight: readonly Operation[];
  /** How long this process has seen them, or those that they followed, lock the project, in milliseconds. */
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
  readonly project: ProjectSnapshot;
  readonly claims: ProjectClaims;
  readonly operations: OperationFacts;
}
