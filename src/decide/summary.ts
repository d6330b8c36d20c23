import type { ProgressReason, StallReason } from "../resource/conditions.ts";

/** What one step says about the resource, before it becomes conditions. */
export type ConditionSummary =
  | { readonly kind: "Ready"; readonly message: string }
  | { readonly kind: "Progressing"; readonly reason: ProgressReason; readonly message: string }
  | { readonly kind: "Stalled"; readonly reason: StallReason; readonly message: string }
  | { readonly kind: "Paused"; readonly message: string; readonly isEndpointGone: boolean }
  /** The step learnt nothing that is worth a write. */
  | { readonly kind: "Unchanged" };
