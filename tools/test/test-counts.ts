/** Counts tests, and judges the run of a tier. */

/** The number of tests by result. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The counts before the first test. */
export const noTests: TestCounts = { passed: 0, failed: 0, skipped: 0 };

/** Adds two counts. */
export function addCounts(a: TestCounts, b: TestCounts): TestCounts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

/** Returns the last line of a run. It names skipped tests only if there are some. */
export function summaryLine({ passed, failed, skipped }: TestCounts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** The counts of one tier, what failed, and the reasons of skipped tests. */
export interface TierVerdict {
  readonly counts: TestCounts;
  /** A line each. The run prints them at its end, where a reader of a long output looks first. */
  readonly problems: readonly string[];
}

/** How a run of vitest ended. */
export interface TierRun {
  /** What the reporter has written; `undefined`: nothing, because vitest crashed. */
  readonly report: TierVerdict | undefined;
  readonly exitCode: number | null;
  /** Why the run was ended early; absent: it was not. */
  readonly endedBecause?: string | undefined;
}

/** Judges the run of one tier. No report, no test, or an error exit without a failed test is a failure too. */
export function judgeTier(run: TierRun): TierVerdict {
  const { counts, problems } = run.report ?? { counts: noTests, problems: [] };
  const problem = problemOf(run, counts);
  if (problem === undefined) return { counts, problems };
  return { counts: addCounts(counts, { ...noTests, failed: 1 }), problems: [...problems, problem] };
}

function problemOf({ report, exitCode, endedBecause }: TierRun, counts: TestCounts): string | undefined {
  if (endedBecause !== undefined) return endedBecause;
  if (report === undefined) return `vitest ended with code ${exitCode} and no report`;
  if (counts.failed > 0) return undefined;
  if (counts.passed + counts.skipped === 0) return "no test ran";
  return exitCode === 0 ? undefined : `vitest ended with code ${exitCode} although no test failed`;
}
