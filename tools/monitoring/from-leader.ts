/**
 * An alert that is active keeps its last value for so long without a leader. Two leaders are at most 20 s apart
 * (docs/settings.md); one scrape and one evaluation may come in between, each after up to a minute.
 */
const withoutLeader = "3m";

/** Which series of the leader an alert reads. */
export interface FromLeaderOptions {
  /** The alert whose expression this is. */
  readonly alert: string;
  /** A gauge with the labels of `identity`. */
  readonly selector: string;
  /** Labels that are kept. @default namespace and name */
  readonly labels?: readonly string[];
  /** Labels of `labels` that the alert has. @default all of them */
  readonly alertLabels?: readonly string[];
  /** The gauge that each object of the kind has. @default compute_endpoint_info */
  readonly presence?: string;
  /** Labels that name one object. @default namespace and name */
  readonly identity?: readonly string[];
}

/**
 * PromQL for a gauge that only the leader exports.
 *
 * In a failover two replicas may export the series for a moment; `max by` makes one of them. Between two leaders no replica
 * exports it: `presence`, which each resource has, is absent. An alert that is active then (`ALERTS`) keeps its
 * last value for a while, so that a failover neither resolves it nor fires it again. An alert that has ended stays ended.
 */
export function fromLeader(options: FromLeaderOptions): string {
  const {
    alert,
    selector,
    labels = ["namespace", "name"],
    alertLabels = labels,
    presence = "compute_endpoint_info",
    identity = ["namespace", "name"],
  } = options;
  const by = `max by (${labels.join(", ")})`;
  return `(
  ${by} (${selector})
  or
  (
    ${by} (max_over_time(${selector}[${withoutLeader}]))
    and on (${alertLabels.join(", ")}) ALERTS{alertname="${alert}"}
    unless on (${identity.join(", ")}) ${presence}
  )
)`;
}
