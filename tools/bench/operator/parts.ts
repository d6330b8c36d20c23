/** The parts of the benchmark that `--part` runs: each measures one promise. */
import { waitUntil } from "../../process/wait-until.ts";
import { quantile, table } from "../common/figures.ts";
import { bringUpByOperator } from "./bring-up.ts";
import { OperatorProcess, type Stage } from "./operator-process.ts";
import { createPopulation, isReady, listPopulation, type Population, planPopulation, sizeOf } from "./population.ts";
import { measurePreviews } from "./previews.ts";
import { SandboxServer } from "./sandbox-server.ts";
import { measureEdits } from "./settled.ts";
import type { BenchWorld } from "./world.ts";

export interface PartOptions {
  readonly world: BenchWorld;
  /** The environment of the operator. */
  readonly settings: Readonly<Record<string, string>>;
  readonly say: (line: string) => void;
}

/** The parts, by the name for `--part`. Each returns its result as Markdown. */
export const parts: Readonly<Record<string, (options: PartOptions) => Promise<string>>> = {
  burst: measureBursts,
  hanging: measureHanging,
  memory: measureMemory,
  previews: measurePreviews,
};

/** Runs work beside a sandbox with these populations, whose resources are created one population after the other. */
async function withSandbox<Result>(
  { world, settings }: PartOptions,
  populations: readonly Population[],
  work: (stages: readonly Stage[]) => Promise<Result>,
): Promise<Result> {
  const sandbox = await SandboxServer.start(world, populations);
  try {
    return await work(populations.map((population) => ({ world, sandbox, population, settings })));
  } finally {
    await sandbox.stop();
  }
}

const burstSizes = [20, 100, 300] as const;

/** Brings up more and more resources in one project. Twice as many should take twice as long. */
async function measureBursts(options: PartOptions): Promise<string> {
  const populations = burstSizes.map((resources) => planPopulation(`burst${resources}`, { resources, projects: 1 }));
  const rows = await withSandbox(options, populations, async (stages) => {
    const measured: (readonly [count: number, secondsEach: number, callsEach: number])[] = [];
    for (const stage of stages) {
      const count = sizeOf(stage.population);
      await createPopulation(stage.world.kube, stage.population);
      const { result, operator } = await bringUpByOperator(stage);
      await operator.stop();
      options.say(`burst of ${count}: ${result.seconds.toFixed(1)} s`);
      const calls = result.controlPlaneReads + result.controlPlaneWrites;
      measured.push([count, result.seconds / count, calls / count]);
    }
    return measured;
  });
  const secondsEach = (size: number) => rows.find(([count]) => count === size)?.[1] ?? 0;
  const cells = rows.map(([count, time, calls]) => [String(count), time.toFixed(3), calls.toFixed(2)]);
  const ratio = secondsEach(300) / secondsEach(100);
  const head = ["resources of one project", "s to Ready each", "calls each"];
  return `${table(head, cells)}\n\nTime of 300 by three times that of 100, at most 1.1: ${ratio.toFixed(2)}.`;
}

/** Brings up many resources, ten in each project. Measures the memory of the operator's process, and then edits. */
async function measureMemory(options: PartOptions): Promise<string> {
  const rows: string[][] = [];
  for (const resources of [1_000, 5_000]) {
    const population = planPopulation(`memory${resources}`, { resources, projects: resources / 10 });
    await withSandbox(options, [population], async (stages) => {
      const [stage] = stages as readonly [Stage];
      await createPopulation(stage.world.kube, population);
      const { result, operator } = await bringUpByOperator(stage);
      const inMiB = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
      const heap = inMiB(await operator.metric("nodejs_heap_size_used_bytes"));
      const peak = inMiB(result.peakRssBytes);
      options.say(`${resources} are Ready: ${result.seconds.toFixed(1)} s, peak ${peak} MiB`);
      const changes = await measureEdits(stage, 300);
      await operator.stop();
      const editMs = [0.5, 0.99].map((share) => quantile(changes, share).toFixed(0));
      rows.push([String(resources), result.seconds.toFixed(1), peak, heap, ...editMs]);
    });
  }
  const head = ["resources", "s to Ready", "peak RSS MiB", "heap MiB", "edit: ms to its change, median", "p99"];
  return `${table(head, rows)}\n\nAt most 160 and 236 MiB, and 50 ms at p99.`;
}

const hangingProjects = 30;
const healthyCreates = 30;

/** Creates endpoints in a healthy project, first alone and then beside projects whose calls are never answered. */
async function measureHanging(options: PartOptions): Promise<string> {
  const alone = planPopulation("alone", { resources: healthyCreates, projects: 1 });
  const beside = planPopulation("beside", { resources: healthyCreates, projects: 1 });
  const hanging = planPopulation("hanging", { resources: hangingProjects, projects: hangingProjects });
  return await withSandbox(options, [alone, beside, hanging], async ([ofAlone, ofBeside]) => {
    if (ofAlone === undefined || ofBeside === undefined) throw new Error("a population is missing");
    await ofAlone.sandbox.holdAnswers("/projects/hanging-*/**");
    for (const population of [alone, beside, hanging]) await createPopulation(options.world.kube, population);
    const aloneMs = await timeToReady(ofAlone, [alone]);
    const besideMs = await timeToReady(ofBeside, [beside, hanging]);
    const rows = [
      ["alone", (aloneMs / 1000).toFixed(1)],
      [`beside ${hangingProjects} projects whose calls hang`, (besideMs / 1000).toFixed(1)],
      ["ratio, at most 1.1", (besideMs / aloneMs).toFixed(2)],
    ];
    return table([`${healthyCreates} creates in a healthy project`, "s to Ready"], rows);
  });
}

/** Returns the milliseconds from the operator's ready state until every resource of the stage is Ready. */
async function timeToReady(stage: Stage, watched: readonly Population[]): Promise<number> {
  const { world, population, settings } = stage;
  const namespaces = watched.map(({ namespace }) => namespace).join(",");
  const operator = await OperatorProcess.start({ ...stage, settings: { ...settings, WATCH_NAMESPACES: namespaces } });
  try {
    const startedMs = performance.now();
    const areReady = async () => (await listPopulation(world.kube, population.namespace)).every(isReady) || undefined;
    await waitUntil(areReady, { what: "the healthy project is Ready", pauseMs: 100, timeoutMs: 300_000 });
    return performance.now() - startedMs;
  } finally {
    await operator.stop();
  }
}
