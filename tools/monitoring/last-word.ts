/**
 * While nobody speaks, what was said stands for so long: two leaders are at most 20 s apart (docs/settings.md), and
 * one scrape and one evaluation may come in between, a minute each where scraping is slow.
 */
const silence = "3m";

/**
 * PromQL for what the leader says about resources.
 *
 * Only the leader exports series of resources. `max by` makes one series of what two replicas may say for a moment when
 * they take turns; and between two leaders, when nobody exports the resource at all (`compute_endpoint_info` is there for
 * each), its last value stands for a while, so that an alert neither resolves nor begins anew in a failover.
 *
 * @param selector a gauge with the labels `namespace` and `name`.
 * @param labels those that are kept.
 */
export function lastWord(selector: string, labels: readonly string[] = ["namespace", "name"]): string {
  const by = `max by (${labels.join(", ")})`;
  return `(
  ${by} (${selector})
  or
  (${by} (max_over_time(${selector}[${silence}])) unless on (namespace, name) compute_endpoint_info)
)`;
}
