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

/** The reporter's file about one run of vitest. */
export interface TierReport {
  readonly counts: TestCounts;
  /** The number of collected files, including those that did not load. */
  readonly files: number;
  /** The reasons of skipped tests, each once; absent: none was given. */
  readonly skipReasons?: readonly string[];
}

/** The result of one test. A skipped test may give a reason. */
export interface TestOutcome {
  readonly state: "passed" | "failed" | "skipped" | "pending";
  readonly note?: string | undefined;
}

/** The part of vitest's TestModule that is counted, so that counting can be tested without vitest. */
export interface CountedModule {
  /** Returns errors outside of tests: the file does not load, or a hook of it fails. */
  errors(): readonly unknown[];
  readonly children: {
    allTests(): Iterable<{ result(): TestOutcome }>;
    allSuites(): Iterable<{ errors(): readonly unknown[] }>;
  };
}

/**
 * Counts one run of vitest.
 * A test that never ended counts as failed. So does each error outside of tests, and each file without a test.
 */
export function countModules(modules: readonly CountedModule[], unhandledErrors: number): TierReport {
  let counts: TestCounts = { ...noTests, failed: unhandledErrors };
  const skipReasons = new Set<string>();
  for (const module of modules) {
    let outside = module.errors().length;
    for (const suite of module.children.allSuites()) outside += suite.errors().length;
    counts = addCounts(counts, { ...noTests, failed: outside });
    const tests = [...module.children.allTests()];
    for (const { state, note } of tests.map((test) => test.result())) {
      counts = addCounts(counts, countOf(state));
      if (state === "skipped" && note !== undefined) skipReasons.add(note);
    }
    if (tests.length === 0 && outside === 0) counts = addCounts(counts, { ...noTests, failed: 1 });
  }
  return { counts, files: modules.length, ...(skipReasons.size > 0 && { skipReasons: [...skipReasons] }) };
}

function countOf(state: TestOutcome["state"]): TestCounts {
  if (state === "passed") return { ...noTests, passed: 1 };
  return state === "skipped" ? { ...noTests, skipped: 1 } : { ...noTests, failed: 1 };
}

/** How a run of vitest ended. */
export interface TierRun {
  /** The reporter's file; `undefined`: there is none, because vitest crashed. */
  readonly report: TierReport | undefined;
  readonly exitCode: number | null;
  /** Why the run was ended early; absent: it was not. */
  readonly endedBecause?: string | undefined;
}

/** The counts of one tier, a sentence for each failure outside of tests, and the reasons of skipped tests. */
export interface TierVerdict {
  readonly counts: TestCounts;
  readonly problems: readonly string[];
}

/** Judges the run of one tier. No report, no test, or an error exit without a failed test is a failure too. */
export function judgeTier(run: TierRun): TierVerdict {
  const counts = run.report?.counts ?? noTests;
  const skips = (run.report?.skipReasons ?? []).map((reason) => `skipped, because ${reason}`);
  const problem = problemOf(run, counts);
  if (problem === undefined) return { counts, problems: skips };
  return { counts: addCounts(counts, { ...noTests, failed: 1 }), problems: [...skips, problem] };
}

function problemOf(run: TierRun, counts: TestCounts): string | undefined {
  if (run.endedBecause !== undefined) return run.endedBecause;
  if (run.report === undefined) return `vitest ended with code ${run.exitCode} and no report`;
  if (counts.failed > 0) return undefined;
  if (counts.passed + counts.skipped === 0) return "no test ran";
  return run.exitCode === 0 ? undefined : `vitest ended with code ${run.exitCode} although no test failed`;
}

/** With CI=true a skipped test counts as failed, because all tests can run there. */
export function countSkippedAsFailed({ passed, failed, skipped }: TestCounts): TestCounts {
  return { passed, failed: failed + skipped, skipped: 0 };
}
