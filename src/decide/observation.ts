import type { Operation } from "../domain/operation.ts";
import type { ProjectSnapshot } from "../domain/project-snapshot.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ProjectClaims } from "./claims.ts";
import type { Identity } from "./identity.ts";
import type { ProjectGrant } from "./project-grant.ts";
import type { Policy, ResourceMemory } from "./resource-memory.ts";

/** What the operation log says about one resource, as far as decisions need it. The reducer of the log computes it. */
export interface OperationFacts {
  /** Operations that our own calls started and that have not ended. */
  readonly ownInFlight: readonly Operation[];
  /** How long this process has known them, in milliseconds. */
  readonly inFlightForMs: number;
  /** Ids of operations that have failed, as far as status or this snapshot shows them. */
  readonly failedIds: ReadonlySet<string>;
}

/** What is known of a resource without the control plane. */
export interface LocalObservation {
  /** Epoch milliseconds of the operator's clock. For times that people read, never for an age. */
  readonly nowMs: number;
  /** Monotonic milliseconds. */
  readonly monotonicMs: number;
  readonly resource: ComputeEndpoint;
  readonly identity: Identity;
  readonly policy: Policy;
  readonly memory: ResourceMemory;
  /** What the namespace may do in the project of the resource. */
  readonly grant: ProjectGrant;
}

/** Everything that one decision depends on. */
export interface Observation extends LocalObservation {
  readonly project: ProjectSnapshot;
  /** Claims of all resources of the project. */
  readonly claims: ProjectClaims;
  readonly operations: OperationFacts;
}
