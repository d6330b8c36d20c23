/** The form of an alert. */

/** How soon a person must look: `critical` pages at any hour, `warning` waits for working hours, `info` for a review. */
export type Severity = "critical" | "warning" | "info";

/** One alert, as this repository ships it. */
export interface Alert {
  /** The name in UpperCamelCase. Its runbook is docs/runbooks/NAME.md. */
  readonly name: string;
  readonly severity: Severity;
  /** The values of the label `action` with which a critical alert is a warning. @default none */
  readonly warningActions?: readonly string[];
  /** The expression in PromQL. Its labels name the object of the alert, and never a replica of the operator. */
  readonly expr: string;
  /** How long the expression must hold, as Prometheus writes durations. `0s`: the alert fires at once. */
  readonly for: string;
  /** One line; a template of Prometheus. */
  readonly summary: string;
  /** What the alert means and what to do next; a template of Prometheus. */
  readonly description: string;
}
