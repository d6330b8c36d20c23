/** How many tests ended how. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Nothing counted yet. */
export const noTests: TestCounts = { passed: 0, failed: 0, skipped: 0 };

/** Both together. */
export function addCounts(a: TestCounts, b: TestCounts): TestCounts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

/** The last line of a run. Skipped tests are named only where there are some. */
export function summaryLine({ passed, failed, skipped }: TestCounts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** What the reporter wrote about one run of vitest. */
export interface TierReport {
  readonly counts: TestCounts;
  /** Files that were collected, whether they loaded or not. */
  readonly files: number;
  /** Why tests were skipped, each reason once; absent when none was given. */
  readonly skipReasons?: readonly string[];
}

/** How one test ended; a skipped one may say why. */
export interface TestOutcome {
  readonly state: "passed" | "failed" | "skipped" | "pending";
  readonly note?: string | undefined;
}

/** The part of vitest's TestModule that is counted, so that counting is tested without vitest. */
export interface CountedModule {
  /** Errors outside any test: the file does not load, a hook of it fails. */
  errors(): readonly unknown[];
  readonly children: {
    allTests(): Iterable<{ result(): TestOutcome }>;
    allSuites(): Iterable<{ errors(): readonly unknown[] }>;
  };
}

/**
 * Counts one run of vitest.
 *
 * A test that was collected but never ended counts as failed, and so does each error outside a test and each file
 * without a test.
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

/** How a run of vitest ended, as its parent sees it. */
export interface TierRun {
  /** Undefined when vitest wrote none, that is, when it crashed. */
  readonly report: TierReport | undefined;
  readonly exitCode: number | null;
  /** Set when we ended it. */
  readonly endedBecause?: string | undefined;
}

/** The counts of one tier, and a sentence for each failure that is not a test's own and each reason to skip. */
export interface TierVerdict {
  readonly counts: TestCounts;
  readonly problems: readonly string[];
}

/**
 * Judges the run of one tier: no report, no test, or a bad end without a failed test is a failure too.
 */
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

/** With CI=true whatever is skipped has failed: the set of tests there is the full one. */
export function countSkippedAsFailed({ passed, failed, skipped }: TestCounts): TestCounts {
  return { passed, failed: failed + skipped, skipped: 0 };
}
