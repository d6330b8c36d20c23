/** Computes how many operations the operator should have counted. */
import { outcomeOf } from "../../src/domain/operation.ts";

/** An operation as the control plane's API shows it. */
export interface LoggedOperation {
  readonly id: string;
  readonly action: string;
  readonly status: string;
  readonly branch_id?: string;
  readonly endpoint_id?: string;
  readonly created_at: string;
  readonly updated_at: string;
  /** Only profile public shows it. */
  readonly total_duration_ms?: number;
}

/** The time in which an endpoint belonged to a resource, in epoch milliseconds of the control plane's clock. */
export interface OwnedEndpoint {
  /**
   * Operations that ended before this time belonged to another client. @default none: the operator made the endpoint
   */
  readonly historyUntilMs?: number;
  /**
   * Operations that ended between `historyUntilMs` and this time may be counted or not, because the adoption took place
   * in between.
   */
  readonly undecidedUntilMs?: number;
  /** Operations that ended after this time need not be counted, because the resource was being deleted. */
  readonly undecidedFromMs?: number;
}

/** The minimum and the maximum number of counts, by "action outcome". */
export type ExpectedCounts = ReadonlyMap<string, { readonly atLeast: number; readonly atMost: number }>;

/** Returns the limits for the counts, from the control plane's log of the endpoints that resources had. */
export function expectedCounts(
  operations: readonly LoggedOperation[],
  owned: ReadonlyMap<string, OwnedEndpoint>,
): ExpectedCounts {
  const counts = new Map<string, { atLeast: number; atMost: number }>();
  for (const operation of operations) {
    const outcome = { Succeeded: "succeeded", Failed: "failed", InFlight: undefined, Unknown: undefined }[
      outcomeOf(operation)
    ];
    const endpoint = owned.get(operation.endpoint_id ?? "");
    if (outcome === undefined || endpoint === undefined) continue;
    const endedMs = Date.parse(operation.updated_at);
    const { historyUntilMs = -1, undecidedUntilMs = -1, undecidedFromMs = Number.POSITIVE_INFINITY } = endpoint;
    if (endedMs < historyUntilMs) continue;
    const isUndecided = endedMs <= undecidedUntilMs || endedMs >= undecidedFromMs;
    const id = `${operation.action} ${outcome}`;
    const { atLeast, atMost } = counts.get(id) ?? { atLeast: 0, atMost: 0 };
    counts.set(id, { atLeast: atLeast + (isUndecided ? 0 : 1), atMost: atMost + 1 });
  }
  return counts;
}

/** Returns the ended operations by "action outcome", from a metrics page. */
export function countsOf(metricsPage: string): ReadonlyMap<string, number> {
  const pattern = /^compute_endpoint_operations_total\{action="([^"]*)",outcome="([^"]*)",cause="[^"]*"\} (\d+)/gm;
  return sumOf(
    [...metricsPage.matchAll(pattern)].map(
      ([, action, outcome, value]) => new Map([[`${action} ${outcome}`, Number(value)]]),
    ),
  );
}

/** Returns the sum of the durations of ended operations in seconds, by "action outcome", from a metrics page. */
export function secondsOf(metricsPage: string): ReadonlyMap<string, number> {
  const pattern = /^compute_endpoint_operation_duration_seconds_sum\{action="([^"]*)",outcome="([^"]*)"\} (\S+)/gm;
  return new Map(
    [...metricsPage.matchAll(pattern)].map(([, action, outcome, value]) => [`${action} ${outcome}`, Number(value)]),
  );
}

/** Returns the same from the control plane's log, for these endpoints. */
export function loggedSeconds(
  operations: readonly LoggedOperation[],
  endpointIds: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  const ended = operations.filter(({ endpoint_id: id }) => endpointIds.has(id ?? ""));
  return sumOf(
    ended.map((operation) => {
      const outcome = operation.status === "finished" ? "succeeded" : "failed";
      const elapsedMs = Date.parse(operation.updated_at) - Date.parse(operation.created_at);
      return new Map([[`${operation.action} ${outcome}`, (operation.total_duration_ms ?? elapsedMs) / 1_000]]);
    }),
  );
}

/** Returns the sum of several counts. */
export function sumOf(counts: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const sum = new Map<string, number>();
  for (const [id, count] of counts.flatMap((each) => [...each])) {
    sum.set(id, (sum.get(id) ?? 0) + count);
  }
  return sum;
}

/** Returns the differences; empty if every count is within its limits. */
export function differences(expected: ExpectedCounts, counted: ReadonlyMap<string, number>): readonly string[] {
  const ids = [...new Set([...expected.keys(), ...counted.keys()])].sort();
  return ids.flatMap((id) => {
    const { atLeast, atMost } = expected.get(id) ?? { atLeast: 0, atMost: 0 };
    const count = counted.get(id) ?? 0;
    return count >= atLeast && count <= atMost ? [] : [`${id}: counted ${count}, expected ${atLeast} to ${atMost}`];
  });
}
