import { waitUntil } from "../../process/wait-until.ts";
import type { NotifiedAlert } from "../../prometheus/webhook-receiver.ts";
import { failedAlert } from "./monitoring.ts";
import type { Story } from "./story.ts";

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
