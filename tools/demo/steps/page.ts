/** The last step: the alert. */
import type { NotifiedAlert } from "../../prometheus/webhook-receiver.ts";
import { failedAlert, type Monitoring } from "../scene/monitoring.ts";
import type { Step } from "../scene/story.ts";
import type { Terminal } from "../scene/terminal.ts";

/** Shows the text of the alert about the failed operation. */
export const page: Step = {
  title: "What the person on call received",
  async play({ terminal, monitoring }) {
    printPages(terminal, monitoring);
  },
};

/** Prints every notification in the order of arrival. Without monitoring, it prints how to get notifications. */
export function printPages(terminal: Terminal, monitoring: Monitoring): void {
  if (monitoring.kind === "Missing") {
    terminal.say(
      `deploy/monitoring/rules.yaml has the alert, ${failedAlert}; here nothing evaluates it. Prometheus and Alertmanager are wanted:`,
    );
    terminal.quote(monitoring.why);
    return;
  }
  const { alerts } = monitoring.stack.pager;
  for (const alert of alerts) printAlert(terminal, alert);
  terminal.success(
    "a real Prometheus with the rules of deploy/monitoring saw it fail, a real Alertmanager reported it and its end",
  );
}

function printAlert(terminal: Terminal, { status, labels, annotations }: NotifiedAlert): void {
  const { alertname, ...others } = labels;
  const words = Object.entries(others).map(([name, value]) => `${name}=${value}`);
  terminal.quote(`${status.toUpperCase()}  ${alertname}  ${words.join(" ")}`);
  if (status === "resolved") return;
  for (const text of [annotations.summary, annotations.description, annotations.runbook_url]) {
    terminal.quote(`  ${text}`);
  }
}
