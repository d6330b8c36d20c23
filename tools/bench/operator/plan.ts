/** Decides what a run of the benchmark measures. */
import type { BenchPlan, BenchSize } from "./run.ts";

/** The options of the command line. */
export interface PlanChoice {
  /** Leaves out the largest size. */
  readonly isQuick: boolean;
  /** Measures a single size, without the heap and with a short rest, for work on the operator. @default all sizes */
  readonly only?: string | undefined;
  /** Measures only the heap of a settled resource, from two small sizes. */
  readonly isHeapOnly: boolean;
  readonly profileFolder?: string | undefined;
}

const heapSizes: readonly BenchSize[] = [
  { resources: 100, projects: 10, rounds: 0, restarts: 10 },
  { resources: 300, projects: 30, rounds: 0, restarts: 10 },
];

/** Each project has ten resources. One size has a hundred, to separate the costs of projects from those of resources. */
const sizes: readonly BenchSize[] = [
  { resources: 100, projects: 10, rounds: 4, restarts: 10 },
  { resources: 1000, projects: 10, rounds: 0, restarts: 0 },
  { resources: 1000, projects: 100, rounds: 4, restarts: 10 },
  { resources: 5000, projects: 500, rounds: 1, restarts: 0 },
];

/** Returns the plan of `npm run bench`. @throws Error when there is no such size */
export function benchPlan({ isQuick, only, isHeapOnly, profileFolder }: PlanChoice): BenchPlan {
  const plan = sizesPlan({ isQuick, only, profileFolder });
  return isHeapOnly ? { ...plan, sizes: heapSizes, edits: 1, scrapes: 1, restSeconds: 5 } : plan;
}

function sizesPlan({ isQuick, only, profileFolder }: Omit<PlanChoice, "isHeapOnly">): BenchPlan {
  const [resources, projects] = (only ?? "").split("/").map(Number);
  const chosen = sizes.filter((size) =>
    only === undefined ? !isQuick || size.resources < 5000 : size.resources === resources && size.projects === projects,
  );
  if (chosen.length === 0) {
    const known = sizes.map((size) => `${size.resources}/${size.projects}`).join(", ");
    throw new Error(`--only: there is no size ${only}; there are ${known}`);
  }
  return {
    sizes: only === undefined ? chosen : chosen.map((size) => ({ ...size, restarts: 0 })),
    edits: 20,
    scrapes: 10,
    restSeconds: only === undefined ? 60 : 5,
    // The floor has no request budget, so the operator gets one without effect: the comparison is about their own work.
    settings: { CONTROL_PLANE_REQUESTS_PER_MINUTE: "1000000", CONTROL_PLANE_REQUESTS_PER_SECOND: "100000" },
    restSettings: { RESYNC_SECONDS: "20" },
    profileFolder,
  };
}
