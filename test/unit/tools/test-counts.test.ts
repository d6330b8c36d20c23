/** Tests how tests are counted. */
import { describe, expect, it } from "vitest";
import {
  type CountedModule,
  countModules,
  countSkippedAsFailed,
  judgeTier,
  noTests,
  summaryLine,
} from "../../../tools/test/test-counts.ts";

type State = "passed" | "failed" | "skipped" | "pending";

function moduleOf(states: readonly State[], errors = 0, suiteErrors = 0): CountedModule {
  const errorsOf = (length: number) => Array.from({ length }, () => ({ message: "it broke\nin line 3" }));
  const outcomeOf = (state: State) => ({ state, ...(state === "failed" && { errors: errorsOf(2) }) });
  return {
    relativeModuleId: "test/a.test.ts",
    errors: () => errorsOf(errors),
    children: {
      allTests: () => states.map((state) => ({ fullName: `a > ${state}`, result: () => outcomeOf(state) })),
      allSuites: () => [{ fullName: "a", errors: () => errorsOf(suiteErrors) }],
    },
  };
}

describe("summaryLine", () => {
  it.each([
    [{ passed: 3, failed: 0, skipped: 0 }, "3 passed, 0 failed"],
    [{ passed: 0, failed: 2, skipped: 0 }, "0 passed, 2 failed"],
    [{ passed: 3, failed: 1, skipped: 2 }, "3 passed, 1 failed, 2 skipped"],
  ])("%o → %s", (counts, line) => {
    expect(summaryLine(counts)).toBe(line);
  });
});

describe("countModules", () => {
  it("passed, failed and skipped tests → each in its column", () => {
    const report = countModules([moduleOf(["passed", "passed", "failed"]), moduleOf(["skipped"])], []);
    const failures = ["test/a.test.ts > a > failed: it broke in line 3"];
    expect(report).toEqual({ counts: { passed: 2, failed: 1, skipped: 1 }, files: 2, failures });
  });

  it("skipped tests that say why → each reason once", () => {
    const module = moduleOf(["skipped", "skipped", "passed"]);
    const notes = ["no browser", "no browser", undefined];
    const tests = [...module.children.allTests()].map((test, index) => ({
      ...test,
      result: () => ({ ...test.result(), note: notes[index] }),
    }));
    const noted = { ...module, children: { ...module.children, allTests: () => tests } };
    expect(countModules([noted, moduleOf(["skipped"])], []).skipReasons).toEqual(["no browser"]);
  });

  it("a test that never ended → failed", () => {
    expect(countModules([moduleOf(["pending"])], []).counts).toEqual({ ...noTests, failed: 1 });
  });

  it("a file without a test beside one with tests → failed", () => {
    expect(countModules([moduleOf([]), moduleOf(["passed"])], []).counts).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  it("a file that does not load → counted once", () => {
    expect(countModules([moduleOf([], 1)], []).counts).toEqual({ ...noTests, failed: 1 });
  });

  it("a file that does not load, a suite whose hook fails, an unhandled error → one failure each", () => {
    const report = countModules([moduleOf(["passed"], 1, 1)], [{ message: "a rejection nobody handled" }]);
    expect(report.counts).toEqual({ passed: 1, failed: 3, skipped: 0 });
    expect(report.failures).toEqual([
      "outside of tests: a rejection nobody handled",
      "test/a.test.ts: it broke in line 3",
      "test/a.test.ts > a: it broke in line 3",
    ]);
  });
});

describe("judgeTier", () => {
  const passed = { counts: { ...noTests, passed: 2 }, files: 1 };

  it("all passed, code 0 → nothing to complain about", () => {
    expect(judgeTier({ report: passed, exitCode: 0 })).toEqual({ counts: passed.counts, problems: [] });
  });

  it("skipped tests that say why → no failure, but listed", () => {
    const report = { counts: { ...passed.counts, skipped: 1 }, files: 1, skipReasons: ["there is no browser"] };
    const problems = ["skipped, because there is no browser"];
    expect(judgeTier({ report, exitCode: 0 })).toEqual({ counts: report.counts, problems });
  });

  it("no report, as after a crash → a failure although nothing was counted", () => {
    const verdict = judgeTier({ report: undefined, exitCode: 134 });
    expect(verdict.counts.failed).toBe(1);
    expect(verdict.problems).toEqual(["vitest ended with code 134 and no report"]);
  });

  it("no test at all → a failure", () => {
    expect(judgeTier({ report: { counts: noTests, files: 0 }, exitCode: 0 }).counts.failed).toBe(1);
  });

  it("files were collected but nothing was counted → a failure", () => {
    expect(judgeTier({ report: { counts: noTests, files: 1 }, exitCode: 0 }).counts.failed).toBe(1);
  });

  it("all passed but a bad exit code → a failure", () => {
    expect(judgeTier({ report: passed, exitCode: 1 }).counts).toEqual({ passed: 2, failed: 1, skipped: 0 });
  });

  it("a failed test and its exit code → counted once", () => {
    const report = { counts: { passed: 1, failed: 1, skipped: 0 }, files: 1 };
    expect(judgeTier({ report, exitCode: 1 })).toEqual({ counts: report.counts, problems: [] });
  });

  it("failures → named, the first thirty of them", () => {
    const failures = Array.from({ length: 40 }, (_, index) => `test ${index}: it broke`);
    const report = { counts: { ...noTests, failed: 40 }, files: 1, failures };
    const { problems } = judgeTier({ report, exitCode: 1 });
    expect(problems).toHaveLength(31);
    expect(problems[0]).toBe("failed: test 0: it broke");
    expect(problems.at(-1)).toBe("failed: and 10 more, listed where the tests ran");
  });

  it("ended by us → a failure, whatever was counted", () => {
    const verdict = judgeTier({ report: passed, exitCode: 0, endedBecause: "it was interrupted" });
    expect(verdict).toEqual({ counts: { passed: 2, failed: 1, skipped: 0 }, problems: ["it was interrupted"] });
  });
});

describe("countSkippedAsFailed", () => {
  it("skipped tests → failures, none left skipped", () => {
    expect(countSkippedAsFailed({ passed: 1, failed: 2, skipped: 3 })).toEqual({ passed: 1, failed: 5, skipped: 0 });
  });
});
