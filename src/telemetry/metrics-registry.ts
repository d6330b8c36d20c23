import { Counter, Gauge, Histogram, Registry } from "prom-client";

export type Labels = Readonly<Record<string, string>>;
export type Series = readonly [labels: Labels, value: number];

export class MetricsRegistry extends Registry {
  /** @param known series to make now: Prometheus does not see the rise of a counter that first appears at 1 */
  counter<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    known: readonly Readonly<Record<Label, string>>[] = [],
  ): Counter<Label> {
    const counter = new Counter({ name, help, labelNames, registers: [this] });
    for (const labels of known) counter.inc(labels, 0);
    return counter;
  }

  histogram<Label extends string = never>(
    name: string,
    help: string,
    { buckets, labelNames = [] }: { readonly buckets: readonly number[]; readonly labelNames?: readonly Label[] },
  ): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets: [...buckets], registers: [this] });
  }

  /** At each scrape, so that an object that is gone leaves no series. @param series must not throw */
  computed(name: string, help: string, series: () => Iterable<Series>): void {
    const gauge = new Gauge({ name, help, registers: [this] });
    const empty = gauge.get.bind(gauge);
    // prom-client's types declare a number for `type`, but its code uses this text.
    const type = (name.endsWith("_total") ? "counter" : "gauge") as never;
    // The gauge stores nothing, because prom-client would hash and copy thousands of series.
    gauge.get = async () => {
      const values = Array.from(series(), ([labels, value]) => ({ labels, value }));
      return { ...(await empty()), type, values };
    };
  }

  /** Metrics of objects of one kind: each object gives series to each of them. */
  ofEach<Each>(
    objects: () => readonly Each[],
    metrics: Readonly<Record<string, readonly [help: string, seriesOf: (each: Each) => readonly Series[]]>>,
  ): void {
    for (const [name, [help, seriesOf]] of Object.entries(metrics)) {
      this.computed(name, help, () => objects().flatMap((each) => seriesOf(each)));
    }
  }

  /** Metrics of one series each, computed at each scrape. A function that returns `undefined` leaves the series out. */
  values(metrics: Readonly<Record<string, readonly [help: string, value: () => number | undefined]>>, labels = {}) {
    for (const [name, [help, read]] of Object.entries(metrics)) {
      this.computed(name, help, () => {
        const value = read();
        return value === undefined ? [] : [[labels, value]];
      });
    }
  }
}

/** The maximum length of a label value. Every known word of the control plane is shorter. */
const longestValue = 64;

export type BoundedLabel = (namespace: string, value: string) => string;

/** Limited by namespace: the words of one tenant's control plane must not push out others. The rest becomes `other`. */
export function createBoundedLabel(limit: number): BoundedLabel {
  const seenIn = new Map<string, Set<string>>();
  return (namespace, value) => {
    const seen = seenIn.get(namespace) ?? new Set();
    if (!seen.has(value) && (seen.size >= limit || value === "" || value.length > longestValue)) {
      return "other";
    }
    seenIn.set(namespace, seen.add(value));
    return value;
  };
}
