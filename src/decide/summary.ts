import type { ProgressReason, StallReason } from "../resource/conditions.ts";

/** What one step means for the resource. The conditions are computed from it. */
export type ConditionSummary =
  | { readonly kind: "Ready"; readonly message: string }
  | { readonly kind: "Progressing"; readonly reason: ProgressReason; readonly message: string }
  | { readonly kind: "Stalled"; readonly reason: StallReason; readonly message: string }
  | { readonly kind: "Paused"; readonly message: string; readonly isEndpointGone: boolean }
  /** Nothing in this step is worth a write. */
  | { readonly kind: "Unchanged" };
