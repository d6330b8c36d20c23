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
  /** Where each failure is and the begin of its message, on one line; absent: nothing failed. */
  readonly failures?: readonly string[];
}

/** An error as vitest reports it. */
export interface ReportedError {
  readonly message?: string;
}

/** The result of one test. A skipped test may give a reason. */
export interface TestOutcome {
  readonly state: "passed" | "failed" | "skipped" | "pending";
  readonly note?: string | undefined;
  readonly errors?: readonly ReportedError[] | undefined;
}

/** The part of vitest's TestModule that is counted, so that counting can be tested without vitest. */
export interface CountedModule {
  /** The path of the file, from the root of the repository. */
  readonly relativeModuleId: string;
  /** Returns errors outside of tests: the file does not load, or a hook of it fails. */
  errors(): readonly ReportedError[];
  readonly children: {
    allTests(): Iterable<{ readonly fullName: string; result(): TestOutcome }>;
    allSuites(): Iterable<{ readonly fullName: string; errors(): readonly ReportedError[] }>;
  };
}

/**
 * Counts one run of vitest.
 * A test that never ended counts as failed. So does each error outside of tests, and each file without a test.
 */
export function countModules(modules: readonly CountedModule[], unhandledErrors: readonly ReportedError[]): TierReport {
  const outcomes = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result()));
  const failures = [
    ...unhandledErrors.map((error) => failureLine(["outside of tests"], error)),
    ...modules.flatMap((module) => [...failuresOutside(module), ...failuresOfTests(module)]),
  ];
  const countOf = (state: TestOutcome["state"]) => outcomes.filter((outcome) => outcome.state === state).length;
  const skipReasons = new Set(outcomes.flatMap(({ state, note }) => (state === "skipped" && note ? [note] : [])));
  return {
    counts: { passed: countOf("passed"), failed: failures.length, skipped: countOf("skipped") },
    files: modules.length,
    ...(skipReasons.size > 0 && { skipReasons: [...skipReasons] }),
    ...(failures.length > 0 && { failures }),
  };
}

function failuresOutside(module: CountedModule): readonly string[] {
  const { relativeModuleId: file, children } = module;
  const failures = [
    ...module.errors().map((error) => failureLine([file], error)),
    ...[...children.allSuites()].flatMap((suite) =>
      suite.errors().map((error) => failureLine([file, suite.fullName], error)),
    ),
  ];
  const isEmpty = [...children.allTests()].length === 0 && failures.length === 0;
  return isEmpty ? [failureLine([file], { message: "it holds no test" })] : failures;
}

function failuresOfTests({ relativeModuleId: file, children }: CountedModule): readonly string[] {
  return [...children.allTests()].flatMap((test) => {
    const { state, errors = [] } = test.result();
    if (state === "passed" || state === "skipped") return [];
    return [failureLine([file, test.fullName], errors[0] ?? { message: "it never ended" })];
  });
}

/** The limit for the message of one failure at the end of a run. The whole message stands where the test ran. */
const shownMessageLength = 300;

function failureLine(place: readonly string[], { message = "an error without a message" }: ReportedError): string {
  return `${place.join(" > ")}: ${message.replaceAll(/\s+/g, " ").slice(0, shownMessageLength)}`;
}

/** How a run of vitest ended. */
export interface TierRun {
  /** The reporter's file; `undefined`: there is none, because vitest crashed. */
  readonly report: TierReport | undefined;
  readonly exitCode: number | null;
  /** Why the run was ended early; absent: it was not. */
  readonly endedBecause?: string | undefined;
}

/** The counts of one tier, what failed, and the reasons of skipped tests. */
export interface TierVerdict {
  readonly counts: TestCounts;
  /** A line each. The run prints them at its end, where a reader of a long output looks first. */
  readonly problems: readonly string[];
}

/** Judges the run of one tier. No report, no test, or an error exit without a failed test is a failure too. */
export function judgeTier(run: TierRun): TierVerdict {
  const counts = run.report?.counts ?? noTests;
  const skips = (run.report?.skipReasons ?? []).map((reason) => `skipped, because ${reason}`);
  const problems = [...skips, ...shortened(run.report?.failures ?? [])];
  const problem = problemOf(run, counts);
  if (problem === undefined) return { counts, problems };
  return { counts: addCounts(counts, { ...noTests, failed: 1 }), problems: [...problems, problem] };
}

/** The limit for the failures of one tier at the end of a run. */
const shownFailures = 30;

function shortened(failures: readonly string[]): readonly string[] {
  const shown = failures.slice(0, shownFailures).map((failure) => `failed: ${failure}`);
  const hidden = failures.length - shown.length;
  return hidden === 0 ? shown : [...shown, `failed: and ${hidden} more, listed where the tests ran`];
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
