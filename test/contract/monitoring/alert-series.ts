/** Series and cases for tests of alerts. */

/** An alert that must fire. `labels` leaves out `alertname` and `severity`. */
export interface Firing {
  readonly labels?: Readonly<Record<string, string>>;
  /** `$value` in the form in which the alert's text shows it. Absent if the text does not show it. */
  readonly value?: string;
}

/** One case: the series that Prometheus scrapes, and when one alert must fire. */
export interface AlertCase {
  readonly alert: string;
  /** "<state> → <effect>". */
  readonly name: string;
  /**
   * The values of each series in the notation of promtool, one value for each scrape (30 s). `1x9` means ten times the
   * value 1. `stale` marks the end of a series.
   */
  readonly series: Readonly<Record<string, string>>;
  /** The alerts that must fire, by time. An empty list: this alert must not fire. */
  readonly firing: Readonly<Record<string, readonly Firing[]>>;
}

/** Labels of a resource. */
export const orders = { namespace: "shop", name: "orders" };
/** The same labels as text, for use within the braces of a series. */
export const key = 'namespace="shop",name="orders"';
/** Labels of series that are scraped from the leader's pod. */
export const podA = 'job="operator",instance="a",pod="a"';
/** Labels of series that are scraped from the other pod. */
export const podB = 'job="operator",instance="b",pod="b"';
/** Returns the name of the series that a pod exports for the resource. */
export const exported = (pod: string) => `compute_endpoint_info{${key},endpoint_id="ep-1",${pod}}`;
/** Returns the name of the series that a pod exports for one condition of the resource. */
export const condition = (type: string, status: string, pod = podA) =>
  `compute_endpoint_condition{${key},type="${type}",status="${status}",${pod}}`;

/** One minute without a leader: the series of the old leader end at 5m, and those of the new leader begin at 6m. */
export const ofOldLeader = "1x9 stale";
/** @see ofOldLeader */
export const ofNewLeader = "_x12 1x60";
