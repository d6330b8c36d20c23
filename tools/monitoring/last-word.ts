/**
 * While nobody speaks, what was said stands for so long: two leaders are at most 20 s apart (docs/settings.md), and
 * one scrape and one evaluation may come in between, a minute each where scraping is slow.
 */
const silence = "3m";

/** What is read of the leader's word. */
export interface LastWordOptions {
  /** The alert whose expression this is. */
  readonly alert: string;
  /** A gauge with the labels `namespace` and `name`. */
  readonly selector: string;
  /** Labels that are kept. @default namespace and name */
  readonly labels?: readonly string[];
  /** Labels of `labels` that the alert has. @default all of them */
  readonly alertLabels?: readonly string[];
}

/**
 * PromQL for what the leader says about resources.
 *
 * Only the leader exports series of resources. `max by` makes one series of what two replicas may say for a moment when
 * they take turns. Between two leaders nobody exports the resource at all (`compute_endpoint_info` is there for each):
 * then an alert that is active (`ALERTS`) goes on for a while with its last value, so that it neither resolves nor begins
 * anew in a failover. One that had ended before does not come back.
 */
export function lastWord(options: LastWordOptions): string {
  const { alert, selector, labels = ["namespace", "name"], alertLabels = labels } = options;
  const by = `max by (${labels.join(", ")})`;
  return `(
  ${by} (${selector})
  or
  (
    ${by} (max_over_time(${selector}[${silence}]))
    and on (${alertLabels.join(", ")}) ALERTS{alertname="${alert}"}
    unless on (namespace, name) compute_endpoint_info
  )
)`;
}
