import type { PowerAction } from "../domain/control-plane.ts";
import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "../domain/endpoint.ts";
import type { ProgressReason, StallReason } from "../resource/conditions.ts";
import type { CreateIntent, Ownership } from "../resource/status-schema.ts";
import type { PowerEcho } from "./power.ts";

/** Why the finalizer may be removed. */
export type ReleaseCause = "Gone" | "Retained" | "NeverCreated";

/** Why an intent is closed without an endpoint. */
export type CloseCause = "NothingCreated" | "Abandoned" | "TakenByAnother";

/** The next step of one resource. One plan has at most one effect on the control plane. */
export type Plan =
  | { readonly kind: "AddFinalizer" }
  | {
      readonly kind: "RemoveFinalizer";
      readonly cause: ReleaseCause;
      /** An open create that is given up with the finalizer. */
      readonly abandoned: CreateIntent | undefined;
    }
  | {
      /** Stores the intent, unless status holds it already, and then sends one POST. */
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
      /** The hash that our own create sent, if the record comes from its answer. */
      readonly acknowledgedHash: string | undefined;
    }
  | { readonly kind: "ForgetEndpoint"; readonly endpointId: string }
  | {
      readonly kind: "UpdateEndpoint";
      readonly endpointId: string;
      readonly changes: EndpointChanges;
      readonly hash: string;
      /** Whether the control plane restarts the compute for it. */
      readonly restarts: boolean;
    }
  | { readonly kind: "MoveEndpoint"; readonly endpointId: string; readonly branchId: string }
  | { readonly kind: "DeleteEndpoint"; readonly endpointId: string }
  | {
      /** An annotation asks for it. */
      readonly kind: "ChangePower";
      readonly endpointId: string;
      readonly action: PowerAction;
      readonly echo: PowerEcho;
    }
  | {
      readonly kind: "Wait";
      readonly reason: ProgressReason;
      readonly message: string;
      /** Milliseconds until the next look; `undefined`: until something changes. */
      readonly waitMs: number | undefined;
    }
  | {
      readonly kind: "Settled";
      /** Managed fields that the control plane accepted and does not show. */
      readonly unverifiable: readonly string[];
      /** Values of annotations that need no call. @default none */
      readonly echo?: PowerEcho;
    }
  | {
      readonly kind: "Stall";
      readonly reason: StallReason;
      readonly message: string;
      /** Endpoints that may be ours. They are recorded, so that no resource adopts them before a person decides. */
      readonly suspectIds?: readonly string[];
    };

/** A plan of one kind. */
export type PlanOf<Kind extends Plan["kind"]> = Extract<Plan, { kind: Kind }>;

/** A plan that changes something in the control plane. Of these, at most one of a project is carried out at a time. */
export type Mutation = PlanOf<"CreateEndpoint" | "UpdateEndpoint" | "MoveEndpoint" | "DeleteEndpoint" | "ChangePower">;

/** Closes a `switch` over a union: a new member is a compile error here. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
