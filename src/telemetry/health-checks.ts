import { type HttpAnswer, plainText } from "./http-listener.ts";

/** One thing that must be well. */
export interface HealthCheck {
  /** As it stands in the answer, for instance `cache-synced`. */
  readonly name: string;
  /** `undefined`: well. Otherwise one line that says what is wrong. */
  readonly problem: () => string | undefined;
}

/**
 * Runs every check: 200 when all are well, else 503; the body lists each.
 *
 * A check that throws counts as failed, without its words: they may hold anything.
 */
export function answerHealth(checks: readonly HealthCheck[]): HttpAnswer {
  const results = checks.map((check) => ({ name: check.name, problem: problemOf(check) }));
  const isWell = results.every((result) => result.problem === undefined);
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `ok ${name}` : `failed ${name}: ${problem}`,
  );
  return plainText(isWell ? 200 : 503, [...lines, isWell ? "ok" : "not ok", ""].join("\n"));
}

function problemOf(check: HealthCheck): string | undefined {
  try {
    return check.problem();
  } catch {
    return "the check itself failed";
  }
}
