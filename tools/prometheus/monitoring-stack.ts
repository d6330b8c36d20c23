/** Starts Prometheus, Alertmanager and a receiver of alerts together. */
import { renderRulesFile } from "../monitoring/rule-files.ts";
import { type MonitoringServer, startAlertmanager, startPrometheus } from "./prometheus.ts";
import { startWebhookReceiver, type WebhookReceiver } from "./webhook-receiver.ts";

/** The targets, and the programs. */
interface MonitoringStackOptions {
  /** The programs, from `resolveAssets`. */
  readonly assets: Readonly<Record<"prometheus" | "alertmanager", string>>;
  /** The addresses of the metrics pages: `127.0.0.1:8080`. */
  readonly targets: readonly string[];
  /**
   * Labels that each target gets beside `job` and `instance`, as service discovery in a cluster adds them. @default
   * none
   */
  readonly targetLabels?: Readonly<Record<string, string>>;
}

/** Prometheus with the shipped rules, Alertmanager, and a receiver of its alerts; all on loopback. */
export interface MonitoringStack {
  readonly prometheus: MonitoringServer;
  readonly alertmanager: MonitoringServer;
  readonly pager: WebhookReceiver;
  /** Ends all programs, each before those that it uses. */
  stop(): Promise<void>;
}

const rulesFile = "rules.yaml";

/** The interval of scrapes, evaluations and notifications. Nothing else differs from production. */
const interval = "1s";

/**
 * Starts all three and waits until they are ready. @throws ComponentError with the end of the log of the one that
 * failed
 */
export async function startMonitoringStack(options: MonitoringStackOptions): Promise<MonitoringStack> {
  const parts = new AsyncDisposableStack();
  try {
    const pager = await startWebhookReceiver();
    parts.defer(() => pager.close());
    const ofAlertmanager = { binary: options.assets.alertmanager, config: alertmanagerConfig(pager.url) };
    const alertmanager = await startAlertmanager(ofAlertmanager);
    parts.defer(() => alertmanager.stop());
    const prometheus = await startPrometheus({
      binary: options.assets.prometheus,
      config: prometheusConfig(options, new URL(alertmanager.url).host),
      files: { [rulesFile]: renderRulesFile() },
    });
    parts.defer(() => prometheus.stop());
    return { prometheus, alertmanager, pager, stop: () => parts.disposeAsync() };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

function prometheusConfig({ targets, targetLabels = {} }: MonitoringStackOptions, alertmanager: string): object {
  return {
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: [rulesFile],
    scrape_configs: [
      {
        job_name: "endpoint-operator",
        // The shipped PodMonitor has this option too.
        honor_labels: true,
        static_configs: [{ targets, labels: targetLabels }],
      },
    ],
    alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
  };
}

function alertmanagerConfig(webhookUrl: string): object {
  return {
    route: {
      receiver: "pager",
      group_by: ["alertname", "namespace", "name"],
      group_wait: "0s",
      group_interval: interval,
      repeat_interval: "1h",
    },
    receivers: [{ name: "pager", webhook_configs: [{ url: webhookUrl, send_resolved: true }] }],
  };
}
