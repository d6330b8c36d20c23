/** The reporter that counts the tests of a run. */
import { writeFileSync } from "node:fs";
import { type CountedModule, countModules, type ReportedError } from "./test-counts.ts";

/** The environment variable with the file that the reporter writes to. */
export const reportFileVariable = "TIER_REPORT_FILE";

/** Writes the counts of a run as JSON (`TierReport`) for `npm test`. People read another reporter. */
class CountReporter {
  onTestRunEnd(modules: readonly CountedModule[], unhandledErrors: readonly ReportedError[]): void {
    const file = process.env[reportFileVariable];
    if (file !== undefined) writeFileSync(file, JSON.stringify(countModules(modules, unhandledErrors)));
  }
}

// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export
export default CountReporter;
