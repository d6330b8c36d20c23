/** Parses a page of metrics. */

/** One sample line of a metrics page. */
export interface Series {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads a page in the Prometheus text format. Comments are left out. @throws Error for a line that is no sample */
export function parsePage(page: string): readonly Series[] {
  return page
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, metric, labels = "", value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (metric === undefined) throw new Error(`no sample: ${line}`);
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = "", text = ""]) => [name, text]);
      return { metric, labels: Object.fromEntries(pairs), value: Number(value?.replace("Inf", "Infinity")) };
    });
}
