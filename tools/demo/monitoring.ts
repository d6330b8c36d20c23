import type { MonitoringStack } from "../prometheus/monitoring-stack.ts";
import type { NotifiedAlert } from "../prometheus/webhook-receiver.ts";
import type { Story } from "./story.ts";
import { waitUntil } from "./wait-until.ts";

/** What watches the operator in the story; where the programs for it cannot be had, why, and how to get them. */
export type Monitoring =
  | { readonly kind: "Running"; readonly stack: MonitoringStack }
  | { readonly kind: "Missing"; readonly why: string };

/** The alert of the story. */
export const failedAlert = "ComputeEndpointOperationFailed";

/** Waits until the pager has heard of the failed operation, or of its end. Nothing to wait for without monitoring. */
export async function untilPaged({ monitoring, world }: Story, status: NotifiedAlert["status"]): Promise<void> {
  if (monitoring.kind === "Missing") return;
  const { alerts } = monitoring.stack.pager;
  const isWanted = (alert: NotifiedAlert) => alert.labels.alertname === failedAlert && alert.status === status;
  await waitUntil(() => (alerts.some(isWanted) ? true : undefined), {
    what: `the pager hears of ${failedAlert}, ${status}`,
    signal: world.signal,
  });
}
