/** How soon a person has to look: `critical` pages at any hour, `warning` waits for the working day. */
export type Severity = "critical" | "warning";

/** One alert, as this repository ships it. */
export interface Alert {
  /** UpperCamelCase; its runbook is docs/runbooks/NAME.md. */
  readonly name: string;
  readonly severity: Severity;
  /** PromQL. Its labels say what the alert is about, and never which replica exported it. */
  readonly expr: string;
  /** How long it must hold, as Prometheus writes durations. `0s`: at once. */
  readonly for: string;
  /** One line; a template of Prometheus. */
  readonly summary: string;
  /** What it means and what to do next; a template of Prometheus. */
  readonly description: string;
}
