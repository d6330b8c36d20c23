import type { MonitoringStack } from "../../prometheus/monitoring-stack.ts";

/** What watches the operator in the story; where the programs for it cannot be had, why, and how to get them. */
export type Monitoring =
  | { readonly kind: "Running"; readonly stack: MonitoringStack }
  | { readonly kind: "Missing"; readonly why: string };

/** The alert of the story. */
export const failedAlert = "ComputeEndpointOperationFailed";
