import { type HttpAnswer, plainText } from "./http-listener.ts";
import type { WatchStats } from "./watch-metrics.ts";

/** One health check. */
export interface HealthCheck {
  /** The name in the answer, for instance `cache-synced`. */
  readonly name: string;
  /** `undefined` if there is no problem, else one line about it. */
  readonly problem: () => string | undefined;
}

/**
 * Runs every check: 200 when none has a problem, else 503. The body lists each check.
 *
 * A check that throws counts as failed. Its error text is left out, because it may contain anything.
 */
export function answerHealth(checks: readonly HealthCheck[]): HttpAnswer {
  const results = checks.map((check) => ({ name: check.name, problem: problemOf(check) }));
  const isWell = results.every((result) => result.problem === undefined);
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `ok ${name}` : `failed ${name}: ${problem}`,
  );
  return plainText(isWell ? 200 : 503, [...lines, isWell ? "ok" : "not ok", ""].join("\n"));
}

/** Checks that the cache is complete and that the watch received bytes lately. */
export function watchChecks(
  stats: () => Pick<WatchStats, "hasSynced" | "silentForMs"> & { readonly unlistedNamespaces: readonly string[] },
  staleAfterMs: number,
): readonly HealthCheck[] {
  return [
    {
      name: "cache-synced",
      problem: () => (stats().hasSynced ? undefined : notListed(stats().unlistedNamespaces)),
    },
    {
      name: "watch-fresh",
      problem: () =>
        (stats().silentForMs ?? 0) > staleAfterMs
          ? `the API server has not been heard for more than ${staleAfterMs / 1_000} s`
          : undefined,
    },
  ];
}

/** Why one cannot be listed stands in the log. */
function notListed(namespaces: readonly string[]): string {
  const some = namespaces.slice(0, 10).join(", ");
  const where = some === "" ? "" : ` in ${some}${namespaces.length > 10 ? ", …" : ""}`;
  return `the first list of ComputeEndpoints is not complete yet${where}`;
}

function problemOf(check: HealthCheck): string | undefined {
  try {
    return check.problem();
  } catch {
    return "the check itself failed";
  }
}
