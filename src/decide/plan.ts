/** The plans: each is one next step of one resource. Also the texts and delays that several kinds of plan share. */
import type { PowerAction } from "../domain/control-plane.ts";
import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { ProgressReason, StallReason } from "../resource/conditions.ts";
import type { ComputeEndpointStatus, CreateIntent, Ownership } from "../resource/status-schema.ts";

type ReleaseCause = "Gone" | "Retained" | "NeverCreated" | "ProjectGone";

type CloseCause = "NothingCreated" | "Abandoned";

/** The next step of one resource. One plan has at most one effect on the control plane. */
export type Plan =
  | { readonly kind: "AddFinalizer" }
  | {
      readonly kind: "RemoveFinalizer";
      readonly cause: ReleaseCause;
      /** The open create that is given up when the finalizer is removed. */
      readonly abandoned: CreateIntent | undefined;
    }
  | {
      /** Stores the intent if status does not hold it yet, and then sends one POST. */
      readonly kind: "CreateEndpoint";
      readonly intent: CreateIntent;
      readonly isIntentStored: boolean;
      readonly creation: EndpointCreation;
      /** Hash of the managed fields in `creation`. */
      readonly hash: string;
    }
  | { readonly kind: "CloseIntent"; readonly intent: CreateIntent; readonly cause: CloseCause }
  | {
      readonly kind: "RecordOwnership";
      readonly ownership: Ownership;
      readonly endpoint: ObservedEndpoint;
      /**
       * The hash of the fields that our own create sent. `undefined`: the record does not come from the answer to our
       * create.
       */
      readonly acknowledgedHash: string | undefined;
    }
  | { readonly kind: "ForgetEndpoint"; readonly endpointId: string }
  | {
      readonly kind: "UpdateEndpoint";
      readonly endpointId: string;
      readonly changes: EndpointChanges;
      readonly hash: string;
      /** Whether the control plane restarts the compute because of this change. */
      readonly restarts: boolean;
    }
  | { readonly kind: "MoveEndpoint"; readonly endpointId: string; readonly branchId: string }
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
  /** Asks the reconcile to read an endpoint by id and to decide again, because the list does not prove enough. */
  | { readonly kind: "Look"; readonly endpointId: string }
  | {
      readonly kind: "Wait";
      readonly reason: ProgressReason;
      readonly message: string;
      /** Milliseconds until the resource is due again; `undefined`: when something changes. */
      readonly waitMs: number | undefined;
    }
  | {
      readonly kind: "Settled";
      /** Managed fields that the control plane accepted but does not show. */
      readonly unverifiable: readonly string[];
      /** Values of power annotations that need no call. @default none */
      readonly echo?: PowerEcho;
    }
  | { readonly kind: "Stall"; readonly reason: StallReason; readonly message: string };

/** The values of handled power annotations, as status repeats them. Absent members stay as they are. */
export type PowerEcho = Pick<ComputeEndpointStatus, "lastHandledWakeAt" | "lastHandledSuspendAt">;

export type PlanOf<Kind extends Plan["kind"]> = Extract<Plan, { kind: Kind }>;

/**
 * A plan that changes something in the control plane. The reconcile of a project carries out at most one of them at a
 * time.
 */
export type MutatingPlan = PlanOf<
  "CreateEndpoint" | "UpdateEndpoint" | "MoveEndpoint" | "DeleteEndpoint" | "ChangePower"
>;

export function stall(reason: StallReason, message: string): PlanOf<"Stall"> {
  return { kind: "Stall", reason, message };
}

const shortestPollMs = 250;

/**
 * Returns the time until an operation is read again: half of the time for which it is known, at least 250 ms and at
 * most `operationPollMs`. Most operations end within one or two seconds, so a young operation is read soon.
 * @param ageMs how long this process has known the operation, in monotonic milliseconds.
 */
export function pollDelayMs(ageMs: number, { operationPollMs }: { readonly operationPollMs: number }): number {
  return Math.min(operationPollMs, Math.max(shortestPollMs, ageMs / 2));
}

export const waitingForProjectMessage = "Waiting until other changes of the project have ended.";

export const deletingMessage = "The endpoint is being deleted. The operator waits for proof that it is gone.";

export function waitingMessage(inFlight: readonly Pick<Operation, "action">[]): string {
  const actions = [...new Set(inFlight.map(({ action }) => action))].sort();
  return `Waiting for ${actions.join(", ")} to end.`;
}
