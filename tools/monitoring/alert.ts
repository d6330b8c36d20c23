/** How soon somebody has to look: `critical` pages a person at any hour, `warning` waits for the working day. */
export type Severity = "critical" | "warning";

/** One alert, as this repository ships it. */
export interface Alert {
  /** UpperCamelCase; its runbook is docs/runbooks/NAME.md. */
  readonly name: string;
  readonly severity: Severity;
  /** PromQL. Its labels say what the alert is about, and never which replica said so. */
  readonly expr: string;
  /** How long it must hold, as Prometheus writes durations. `0s`: at once. */
  readonly for: string;
  /** One line; a template of Prometheus. */
  readonly summary: string;
  /** What it means and what to do next; a template of Prometheus. */
  readonly description: string;
}
