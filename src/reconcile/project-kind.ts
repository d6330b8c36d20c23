import type { WaitingChange } from "../decide/choose-mutation.ts";
import type { BranchObjects } from "../domain/branch-objects.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Operation } from "../domain/operation.ts";
import type { ProjectSnapshot } from "../domain/project-snapshot.ts";
import type { OperationsSnapshot } from "../operations/known-operations.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";

/** A further kind of resource whose changes compete with those of the ComputeEndpoints of a project. */
export interface ProjectKind {
  /** Begins a reconcile of one project. */
  begin(start: KindRoundStart): KindRound;
}

/** What a further kind knows at the begin of a reconcile. */
export interface KindRoundStart {
  readonly projectId: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly monotonicMs: number;
  /** The ComputeEndpoints that name the project. */
  readonly endpoints: readonly ComputeEndpoint[];
}

/** What the reconcile has read of the project. */
export interface KindLook {
  readonly objects: BranchObjects;
  readonly snapshot: ProjectSnapshot;
  readonly operations: OperationsSnapshot;
  /** False: the project is locked, and no change can be sent in this reconcile. */
  readonly mayChange: boolean;
}

/** The one change of a reconcile, as a further kind sends it. */
export interface KindChange {
  /** Waits for a place in the request budget; call it before the last checks. @throws ControlPlaneError */
  readonly reserve: () => Promise<void>;
  /** The control plane for the one request of the reservation. */
  readonly objects: BranchObjects;
}

/** The result of a change. */
export type KindSent =
  | { readonly kind: "Accepted"; readonly namespace: string; readonly operations: readonly Operation[] }
  /** `retryAtMs`: monotonic milliseconds of the next try. */
  | { readonly kind: "Failed"; readonly error: ControlPlaneError; readonly retryAtMs: number }
  /** Nothing was sent. */
  | { readonly kind: "Outdated" };

/**
 * The resources of a further kind in one reconcile of one project, in the steps of the reconcile.
 *
 * Errors: no method throws for a single resource; its failure concerns no other resource.
 */
export interface KindRound {
  /** Resources of the kind that this project's reconcile works on. */
  readonly size: number;
  /** Decides and stores what needs no control plane. */
  settleLocally(): Promise<void>;
  /** Whether a resource needs the control plane to be read now. */
  wantsLook(): boolean;
  /** Whether a resource waits to change something. */
  isWaiting(): boolean;
  /** Reads what its decisions need beside the snapshot, and decides. */
  look(look: KindLook): Promise<void>;
  /** The changes that were decided and may be sent. */
  wishes(): readonly WaitingChange[];
  /** Sends the change of a resource that is among the wishes, and stores the result. */
  change(uid: string, change: KindChange): Promise<KindSent>;
  /** Stores the result of every other decision. @param changedUid whose change was sent */
  settle(changedUid: string | undefined): Promise<void>;
  /** Reports that the project cannot be read. */
  fail(error: ControlPlaneError, forMs: number): Promise<void>;
  /** The earliest time at which a resource is due again without a change of it, monotonic milliseconds. */
  nextDueMs(): number;
}
