/** Decides what a run of the benchmark measures. */
import type { BenchPlan, BenchSize } from "./run.ts";

const sizes: readonly BenchSize[] = [
  { resources: 100, projects: 10, rounds: 4 },
  { resources: 1000, projects: 100, rounds: 4 },
];

/**
 * Returns the plan of `npm run bench`.
 * @param only a single size, for instance `1000/100`, with a short rest. @default all sizes
 * @throws Error when there is no such size
 */
export function benchPlan(only: string | undefined): BenchPlan {
  const chosen = sizes.filter(({ resources, projects }) => only === undefined || only === `${resources}/${projects}`);
  if (chosen.length === 0) {
    throw new Error(
      `--only: there are ${sizes.map(({ resources, projects }) => `${resources}/${projects}`).join(", ")}`,
    );
  }
  return {
    sizes: chosen,
    edits: 20,
    restSeconds: only === undefined ? 60 : 5,
    // The floor has no request budget, so the operator gets one without effect: the comparison is about their own work.
    settings: { CONTROL_PLANE_REQUESTS_PER_MINUTE: "1000000", CONTROL_PLANE_REQUESTS_PER_SECOND: "100000" },
    restSettings: { RESYNC_SECONDS: "20" },
  };
}
