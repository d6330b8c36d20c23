/** Series and cases for tests of alerts. */

/** An alert that must be firing: its labels without `alertname` and `severity`, and its value as the text shows it. */
export interface Firing {
  readonly labels?: Readonly<Record<string, string>>;
  /** What `$value` reads like in the text, where the text shows it. */
  readonly value?: string;
}

/** Series as they are scraped, and what of one alert is firing at which time. */
export interface AlertCase {
  readonly alert: string;
  /** "<state> → <effect>". */
  readonly name: string;
  /** Values by series, one a scrape (30 s), as promtool writes them: `1x9` is ten of them, `stale` what a series that ends leaves. */
  readonly series: Readonly<Record<string, string>>;
  /** By time. An empty list: nothing of this alert is firing. */
  readonly firing: Readonly<Record<string, readonly Firing[]>>;
}

/** Labels of a resource. */
export const orders = { namespace: "shop", name: "orders" };
/** The same, within the braces of a series. */
export const key = 'namespace="shop",name="orders"';
/** Scraped from the pod that leads. */
export const podA = 'job="operator",instance="a",pod="a"';
/** Scraped from the other pod. */
export const podB = 'job="operator",instance="b",pod="b"';
/** A resource that the pod exports. */
export const exported = (pod: string) => `compute_endpoint_info{${key},endpoint_id="ep-1",${pod}}`;
/** A condition of it. */
export const condition = (type: string, status: string, pod = podA) =>
  `compute_endpoint_condition{${key},type="${type}",status="${status}",${pod}}`;

/** A gap of a minute between two leaders: the old one's series end at 5m, the new one's begin at 6m. */
export const ofOldLeader = "1x9 stale";
/** @see ofOldLeader */
export const ofNewLeader = "_x12 1x60";
