/** Runs range queries in Prometheus. */
import type { Prometheus } from "../../tools/prometheus/prometheus.ts";

/** One series over time. */
export interface MatrixSeries {
  readonly labels: Readonly<Record<string, string>>;
  /** The values in the order of time; `NaN` where the query has no value. */
  readonly values: readonly number[];
}

/** A stretch of time in seconds since 1970. */
export interface TimeRange {
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly stepSeconds: number;
}

/**
 * Runs a query over a time range, like a graph.
 * @throws Error with Prometheus's message when it refuses the query
 */
export async function queryRange(
  prometheus: Pick<Prometheus, "api">,
  expression: string,
  { startSeconds, endSeconds, stepSeconds }: TimeRange,
): Promise<readonly MatrixSeries[]> {
  const parameters = new URLSearchParams({
    query: expression,
    start: String(startSeconds),
    end: String(endSeconds),
    step: String(stepSeconds),
  });
  const { result } = (await prometheus.api(`/api/v1/query_range?${parameters}`)) as {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly values: readonly (readonly [seconds: number, value: string])[];
    }[];
  };
  return result.map(({ metric, values }) => ({
    labels: metric,
    values: values.map(([, text]) => Number(text.replace("Inf", "Infinity"))),
  }));
}
