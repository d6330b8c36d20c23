/** The monitoring of the demo. */
import type { MonitoringStack } from "../../prometheus/monitoring-stack.ts";

/** The monitoring that runs. If its programs are not available: why, and how to get them. */
export type Monitoring =
  | { readonly kind: "Running"; readonly stack: MonitoringStack }
  | { readonly kind: "Missing"; readonly why: string };

/** The alert that the demo shows. */
export const failedAlert = "ComputeEndpointOperationFailed";
