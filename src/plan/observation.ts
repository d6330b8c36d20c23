import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { ProjectReading } from "../domain/project-view.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { Claim } from "./claims.ts";

/** Which cluster and which service this process speaks for. Ownership records name both. */
export interface Identity {
  readonly clusterId: string;
  readonly serviceUrl: string;
}

/**
 * What happened to the posts under one intent, as far as this process knows. An intent that it did not record itself
 * is `Unresolved`: an earlier process may have sent anything.
 */
export type PostState = "NoneSent" | "AllDefinite" | "Unresolved";

/** What this process remembers of the open intent. Times are monotonic milliseconds. */
export interface IntentMemory {
  readonly attempt: string;
  readonly posts: PostState;
  /** For an intent of this process: before it was sent to be stored. */
  readonly firstSeenMs: number;
  /** The resource's version with this intent, as the API server answered it to this process. */
  readonly storedVersion: string | undefined;
  readonly lastPostMs: number | undefined;
}

/** What a create answered but status does not hold yet. */
export interface AnsweredCreate {
  readonly endpoint: ObservedEndpoint;
  readonly operations: readonly Operation[];
  /** Hash of the managed fields that were sent. */
  readonly hash: string;
  readonly attempt: string;
}

/** The last failure of this resource, until something works again. */
export interface FailureMemory {
  readonly error: ControlPlaneError;
  readonly generation: number;
  /** Monotonic milliseconds of the first failure in this row. */
  readonly sinceMs: number;
  readonly count: number;
  /** Monotonic milliseconds of the next try. */
  readonly retryAtMs: number;
  /** Whether an effect was refused: then no effect is tried before `retryAtMs`, whatever wakes the key. */
  readonly holdsBack: boolean;
}

/** What this process knows of one uid and status does not hold. Lost at a restart, by design. */
export interface Memory {
  readonly intent: IntentMemory | undefined;
  readonly answeredCreate: AnsweredCreate | undefined;
  readonly failure: FailureMemory | undefined;
  /** Operations that answers to our own calls named. */
  readonly ownOperationIds: readonly string[];
  /** Monotonic milliseconds of the end of our last write; `undefined`: none yet. */
  readonly lastWriteMs: number | undefined;
  /** The endpoint as our last write answered it, and when that was: what shows it older is out of date. */
  readonly lastAnswer: Pick<ObservedEndpoint, "id" | "updatedTime"> | undefined;
  /** Monotonic milliseconds of our last DELETE. */
  readonly lastDeleteMs: number | undefined;
}

/** What can be known without asking the service. */
export interface LocalObservation {
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly resource: ComputeEndpoint;
  readonly identity: Identity;
  /** Claims of other resources of the same project. */
  readonly claims: readonly Claim[];
  readonly memory: Memory;
}

/** The endpoint that ownership names, as read in this pass. */
export type RemoteState =
  | { readonly kind: "NotOwned" }
  | { readonly kind: "Present"; readonly endpoint: ObservedEndpoint }
  /** The list lacked it and a read by id still found it, or the other way round: no proof of anything. */
  | { readonly kind: "Unproven" }
  /** Proven by a list and a read by id, both begun after our last write. */
  | { readonly kind: "Absent" };

/** One complete read of everything relevant. */
export interface Observation extends LocalObservation {
  readonly project: ProjectReading;
  readonly remote: RemoteState;
  readonly createTurn: CreateTurn;
}

/** Whether the one open create of a branch and type may be this one. Milliseconds. */
export type CreateTurn =
  | { readonly kind: "Ours" }
  /** Another one is open: for how long this one has waited in all, and for that other one. */
  | { readonly kind: "Waiting"; readonly waitedMs: number; readonly stillMs: number };

/** The settings that decisions depend on. */
export interface Policy {
  /** How long a lost POST may still land. */
  readonly createSettleMs: number;
  readonly operationPollMs: number;
  readonly resyncMs: number;
}
