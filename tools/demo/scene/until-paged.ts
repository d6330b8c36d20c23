/** Waits for an alert in the demo. */
import { waitUntil } from "../../process/wait-until.ts";
import type { NotifiedAlert } from "../../prometheus/webhook-receiver.ts";
import { failedAlert } from "./monitoring.ts";
import type { Story } from "./story.ts";

/**
 * Waits until the pager has received the alert about the failed operation, or its end. Without monitoring it returns at
 * once.
 */
export async function untilPaged({ monitoring, world }: Story, status: NotifiedAlert["status"]): Promise<void> {
  if (monitoring.kind === "Missing") return;
  const { alerts } = monitoring.stack.pager;
  const isWanted = (alert: NotifiedAlert) => alert.labels.alertname === failedAlert && alert.status === status;
  await waitUntil(() => (alerts.some(isWanted) ? true : undefined), {
    what: `the pager hears of ${failedAlert}, ${status}`,
    signal: world.signal,
  });
}
