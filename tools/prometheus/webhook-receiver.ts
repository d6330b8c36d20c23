/** Receives the notifications of Alertmanager. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** One alert of a notification, as Alertmanager's webhook sends it (version 4). */
export interface NotifiedAlert {
  readonly status: "firing" | "resolved";
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A server on loopback that receives notifications, in place of a pager. */
export interface WebhookReceiver {
  readonly url: string;
  /** Every alert of every notification, in the order of arrival. */
  readonly alerts: readonly NotifiedAlert[];
  close(): Promise<void>;
}

const mostBytes = 1_000_000;
/** The maximum number of alerts. Above it, the oldest are forgotten. */
const mostAlerts = 10_000;

/** Starts a receiver on a free port. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const alerts: NotifiedAlert[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => {
      body += chunk;
      if (body.length > mostBytes) request.destroy();
    });
    request.on("end", () => {
      const notified = parseAlerts(body);
      if (notified === undefined) {
        response.writeHead(400).end("no notification");
        return;
      }
      alerts.push(...notified);
      alerts.splice(0, Math.max(0, alerts.length - mostAlerts));
      response.writeHead(200).end();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    alerts,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function parseAlerts(body: string): readonly NotifiedAlert[] | undefined {
  try {
    const { alerts } = JSON.parse(body) as { readonly alerts?: readonly NotifiedAlert[] };
    return Array.isArray(alerts) ? alerts : undefined;
  } catch {
    return undefined;
  }
}
