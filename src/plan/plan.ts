import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "../domain/endpoint.ts";
import type { ProgressReason, StallReason } from "../resource/conditions.ts";
import type { CreateIntent, Ownership } from "../resource/status-schema.ts";

/** Why a finalizer may go. */
export type ReleaseCause = "Gone" | "Retained" | "NeverCreated";

/** Why an intent is closed without an endpoint. */
export type CloseCause = "NothingLanded" | "Abandoned" | "TakenByAnother";

/** The one next step. One plan is one effect; the next pass observes again. */
export type Plan =
  | { readonly kind: "AddFinalizer" }
  | {
      readonly kind: "RemoveFinalizer";
      readonly cause: ReleaseCause;
      /** An open intent that is given up with the finalizer, by explicit wish. */
      readonly abandoned: CreateIntent | undefined;
    }
  | { readonly kind: "RecordIntent"; readonly intent: CreateIntent }
  | {
      readonly kind: "CreateEndpoint";
      readonly intent: CreateIntent;
      readonly creation: EndpointCreation;
      /** Hash of the managed fields in `creation`. */
      readonly hash: string;
    }
  | { readonly kind: "CloseIntent"; readonly intent: CreateIntent; readonly cause: CloseCause }
  | {
      readonly kind: "RecordOwnership";
      readonly ownership: Ownership;
      readonly endpoint: ObservedEndpoint;
      /** Present when our own create answered: its hash counts as acknowledged. */
      readonly acknowledgedHash: string | undefined;
    }
  | { readonly kind: "ForgetEndpoint"; readonly endpointId: string }
  | {
      readonly kind: "UpdateEndpoint";
      readonly endpointId: string;
      readonly changes: EndpointChanges;
      readonly hash: string;
      /** Whether the service restarts the compute for it. */
      readonly restarts: boolean;
    }
  | { readonly kind: "MoveEndpoint"; readonly endpointId: string; readonly branchId: string }
  | { readonly kind: "DeleteEndpoint"; readonly endpointId: string; readonly cause: "Deletion" | "Duplicate" }
  | {
      readonly kind: "Wait";
      readonly reason: ProgressReason;
      readonly message: string;
      readonly requeueAfterMs: number | undefined;
    }
  | {
      readonly kind: "Settled";
      /** Managed fields that the service accepted and does not echo. */
      readonly unverifiable: readonly string[];
    }
  | {
      readonly kind: "Stall";
      readonly reason: StallReason;
      readonly message: string;
      /** Endpoints that may be ours, kept out of everybody's reach until a person decides. */
      readonly suspectIds?: readonly string[];
    };

/** A plan that changes something at the service. */
export type ServiceEffect = Extract<
  Plan,
  { kind: "CreateEndpoint" | "UpdateEndpoint" | "MoveEndpoint" | "DeleteEndpoint" }
>;

/** Whether a plan changes something at the service. */
export function isServiceEffect(plan: Plan): plan is ServiceEffect {
  return (
    plan.kind === "CreateEndpoint" ||
    plan.kind === "UpdateEndpoint" ||
    plan.kind === "MoveEndpoint" ||
    plan.kind === "DeleteEndpoint"
  );
}

/** Closes a `switch` over a union: a new member is a compile error here. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
