/** The plans that every kind has, and their texts and delays. */
import type { AccessProgressReason, AccessStallReason, ProgressReason, StallReason } from "../resource/conditions.ts";

export type ReleaseCause = "Gone" | "Retained" | "NeverCreated" | "ProjectGone";

/** The next step of one resource. One plan has at most one effect on the control plane. */
export type CommonPlan =
  /** Asks for operations and endpoints of the project, and to be decided again. */
  | { readonly kind: "Look"; readonly at: "Project" }
  /** Asks for the kind's own reads, and to be decided again. `endpointId`: an endpoint to read by id. */
  | { readonly kind: "Look"; readonly at: "Own"; readonly endpointId?: string }
  | {
      readonly kind: "Wait";
      readonly reason: ProgressReason | AccessProgressReason;
      readonly message: string;
      /** Milliseconds until the resource is due again; `undefined`: when something changes. */
      readonly waitMs: number | undefined;
    }
  | { readonly kind: "Stall"; readonly reason: StallReason | AccessStallReason; readonly message: string }
  | { readonly kind: "RemoveFinalizer"; readonly cause: ReleaseCause }
  /** Nothing is to be done or reported. */
  | { readonly kind: "Idle"; readonly dueInMs: number | undefined };

const commonKinds: ReadonlySet<string> = new Set<CommonPlan["kind"]>([
  ...(["Look", "Wait", "Stall", "RemoveFinalizer", "Idle"] as const),
]);

/** @returns `undefined`: only its kind has this plan */
export function commonPlan(plan: { readonly kind: string } | undefined): CommonPlan | undefined {
  return plan !== undefined && commonKinds.has(plan.kind) ? (plan as CommonPlan) : undefined;
}

/** The plan, if only its kind has it. */
export function ownPlan<Plan extends { readonly kind: string }>(plan: Plan | CommonPlan | undefined): Plan | undefined {
  return plan !== undefined && commonPlan(plan) === undefined ? (plan as Plan) : undefined;
}

export type CommonPlanOf<Kind extends CommonPlan["kind"]> = Extract<CommonPlan, { kind: Kind }>;

export function stall(reason: StallReason | AccessStallReason, message: string): CommonPlanOf<"Stall"> {
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
