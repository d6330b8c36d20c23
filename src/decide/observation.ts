/** What one decision is made from. */
import type { Operation } from "../domain/operation.ts";
import type { ProjectSnapshot } from "../domain/project-snapshot.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ProjectClaims } from "./claims.ts";
import type { Identity } from "./identity.ts";
import type { PlaneProblem, ProjectGrant } from "./project-grant.ts";
import type { Policy, ResourceMemory } from "./resource-memory.ts";

/**
 * The facts about one resource's operations that decisions need. `reduceOperations` computes them from the operation
 * log.
 */
export interface OperationFacts {
  /** Operations that the operator's own calls started and that have not ended. */
  readonly ownInFlight: readonly Operation[];
  /** How long this process has known the oldest operation of `ownInFlight`, in milliseconds. */
  readonly inFlightForMs: number;
  /** Ids of failed operations that status or this snapshot shows. */
  readonly failedIds: ReadonlySet<string>;
}

/** Everything about a resource that the operator knows without a call to the control plane. */
export interface LocalObservation {
  /**
   * The time of the operator's clock, in epoch milliseconds. It is for timestamps that people read, never for an age.
   */
  readonly nowMs: number;
  /** The time of this observation, in monotonic milliseconds. */
  readonly monotonicMs: number;
  readonly resource: ComputeEndpoint;
  readonly identity: Identity;
  readonly policy: Policy;
  readonly memory: ResourceMemory;
  /** What the resource's namespace may do in the resource's project. */
  readonly grant: ProjectGrant;
  /** Why the control plane of the resource cannot be used. @default it can be used */
  readonly planeProblem?: PlaneProblem | undefined;
}

/** Everything that one decision depends on. */
export interface Observation extends LocalObservation {
  readonly project: ProjectSnapshot;
  /** The claims of all resources of the project. */
  readonly claims: ProjectClaims;
  readonly operations: OperationFacts;
}
