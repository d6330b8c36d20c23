/** The reporter that counts the tests of a run. */
import { writeFileSync } from "node:fs";
import type { SerializedError } from "vitest";
import type { TestModule } from "vitest/node";
import type { TierVerdict } from "./test-counts.ts";

/** The environment variable with the file that the reporter writes to. */
export const reportFileVariable = "TIER_REPORT_FILE";

/** The limits for what is shown at the end of a run. Everything stands where the tests ran. */
const shown = { characters: 300, failures: 30 } as const;

type ReportedError = Pick<SerializedError, "message">;

function failureLine(place: readonly string[], { message }: ReportedError): string {
  return `failed: ${place.join(" > ")}: ${message.replaceAll(/\s+/g, " ").slice(0, shown.characters)}`;
}

/** A test that never ended counts as failed. So does each error outside of tests, and each file without a test. */
function failuresOf(module: TestModule): readonly string[] {
  const { relativeModuleId: file, children } = module;
  const tests = [...children.allTests()].flatMap((test) => {
    const { state, errors = [] } = test.result();
    if (state === "passed" || state === "skipped") return [];
    return [failureLine([file, test.fullName], errors[0] ?? { message: "it never ended" })];
  });
  const suites = [...children.allSuites()].flatMap((suite) =>
    suite.errors().map((error) => failureLine([file, suite.fullName], error)),
  );
  return [...tests, ...suites, ...module.errors().map((error) => failureLine([file], error))];
}

function verdictOf(modules: readonly TestModule[], unhandledErrors: readonly ReportedError[]): TierVerdict {
  const results = modules.flatMap(({ children }) => [...children.allTests()].map((test) => test.result()));
  const isEmpty = (module: TestModule) => [...module.children.allTests()].length === 0;
  const failures = [
    ...unhandledErrors.map((error) => failureLine(["outside of tests"], error)),
    ...modules.flatMap((module) => {
      const own = failuresOf(module);
      const nothing = failureLine([module.relativeModuleId], { message: "it holds no test" });
      return own.length === 0 && isEmpty(module) ? [nothing] : own;
    }),
  ];
  const notes = results.flatMap((result) => (result.state === "skipped" && result.note ? [result.note] : []));
  const countOf = (state: string) => results.filter((result) => result.state === state).length;
  const hidden = failures.length - shown.failures;
  return {
    counts: { passed: countOf("passed"), failed: failures.length, skipped: countOf("skipped") },
    problems: [
      ...[...new Set(notes)].map((note) => `skipped, because ${note}`),
      ...failures.slice(0, shown.failures),
      ...(hidden > 0 ? [`failed: and ${hidden} more, listed where the tests ran`] : []),
    ],
  };
}

/** Writes the counts of a run as JSON for `npm test`. People read another reporter. */
class CountReporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const file = process.env[reportFileVariable];
    if (file !== undefined) writeFileSync(file, JSON.stringify(verdictOf(modules, unhandledErrors)));
  }
}

// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export
export default CountReporter;
