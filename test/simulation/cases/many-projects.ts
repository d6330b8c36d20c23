/** Named cases with many projects or many resources. */
import { furtherProject } from "../control-plane/engine.ts";
import type { World } from "../run/world.ts";
import { type NamedCase, planOf } from "./named-case.ts";

const projects = 160;
const restartAtMs = 1_800_000;
const stopAtMs = restartAtMs + 60_000;

const specOf = (at: number) => {
  const { id: projectId, branchId } = furtherProject(at);
  return { projectId, branchId, type: "ReadWrite" } as const;
};

/** Polls may use 30 requests a minute, so reading 160 projects after a restart takes more than ten minutes. */
const planWith = (steps: Parameters<typeof planOf>[0]["steps"]) =>
  planOf({
    world: {
      furtherProjects: projects,
      settings: { CONTROL_PLANE_REQUESTS_PER_MINUTE: "60", CONTROL_PLANE_REQUESTS_PER_SECOND: "5" },
    },
    steps: [
      ...Array.from({ length: projects }, (_, at) => ({
        atMs: 1_000,
        action: { kind: "Apply", name: `app-${at}`, spec: specOf(at) } as const,
      })),
      { atMs: restartAtMs, action: { kind: "Crash", replica: 0 } },
      ...steps,
    ],
    quietFromMs: restartAtMs + 1_200_000,
  });

/** Returns the events after a time whose text contains these words. */
const since = ({ log }: World, fromMs: number, words: string) =>
  log.entries.filter(({ atMs, text }) => atMs >= fromMs && text.includes(words));

const writeProblems = (world: World) =>
  since(world, restartAtMs, "asks the API server to patch status").length === 0 ? [] : ["L3: status was written"];

/** A restart with more projects than the request budget lets the operator read within minutes. */
export const manyProjectCases: readonly NamedCase[] = [
  {
    id: "many projects, restart",
    name: "a restart, and reading all projects takes longer than a request may wait → nothing is written",
    why: "healthy resources show Throttled after each restart of the operator",
    plan: planWith([]),
    judge: (world) => {
      const lists = since(world, restartAtMs, "asks the control plane to list the project's endpoints").length;
      return [...writeProblems(world), ...(lists < projects ? [`only ${lists} projects were read`] : [])];
    },
  },
  {
    id: "many projects, stop",
    name: "a shutdown while polls wait for the request budget → it ends at once, and nothing is written",
    why: "each rollout waits 20 seconds, and the process exits with an error",
    plan: planWith([{ atMs: stopAtMs, action: { kind: "Stop", replica: 0 } }]),
    judge: (world) => {
      const [gone] = since(world, stopAtMs, "is gone");
      const isQuick = gone !== undefined && gone.atMs < stopAtMs + 2_000;
      const isLate = since(world, stopAtMs, "did not end in time").length > 0;
      return [...writeProblems(world), ...(isQuick && !isLate ? [] : ["the shutdown waited"])];
    },
  },
];
