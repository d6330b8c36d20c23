/** Writes expressions that survive a change of the leader. */

/**
 * An active alert keeps its last value for this time without a leader. A new leader follows within 20 s
 * (docs/settings.md). One scrape and one evaluation may come in between, each after up to a minute.
 */
const withoutLeader = "3m";

/** The series of the leader that an alert reads. */
export interface FromLeaderOptions {
  /** The name of the alert. */
  readonly alert: string;
  /** A gauge with the labels of `identity`. */
  readonly selector: string;
  /** The labels that are kept. @default namespace and name */
  readonly labels?: readonly string[];
  /** The gauge that every object of the kind has. @default compute_endpoint_info */
  readonly presence?: string;
  /** The labels that name one object. @default namespace and name */
  readonly identity?: readonly string[];
}

/**
 * Returns PromQL for a gauge that only the leader exports.
 * In a failover two replicas may export the series for a moment; `max by` makes one series of them. Between two leaders
 * no replica exports it, and `presence`, which each resource has, is absent. An alert that is active then (`ALERTS`)
 * keeps its last value for a while. So a failover neither resolves it nor fires it again. An alert that has ended stays
 * ended.
 */
export function fromLeader(options: FromLeaderOptions): string {
  const {
    alert,
    selector,
    labels = ["namespace", "name"],
    presence = "compute_endpoint_info",
    identity = ["namespace", "name"],
  } = options;
  const by = `max by (${labels.join(", ")})`;
  return `(
  ${by} (${selector})
  or
  (
    ${by} (max_over_time(${selector}[${withoutLeader}]))
    and on (${labels.join(", ")}) ALERTS{alertname="${alert}"}
    unless on (${identity.join(", ")}) ${presence}
  )
)`;
}
