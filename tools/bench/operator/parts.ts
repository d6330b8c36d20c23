/** The parts of the benchmark that `--part` runs: each measures one promise, and prints a ratio. */
import { waitUntil } from "../../process/wait-until.ts";
import { table } from "../common/table.ts";
import { bringUpByOperator, startOperator } from "./bring-up.ts";
import { createPopulation, isReady, listPopulation, type Population, planPopulation, sizeOf } from "./population.ts";
import { type LoggedRequest, SandboxServer } from "./sandbox-server.ts";
import type { BenchWorld } from "./world.ts";

/** What a part of the benchmark needs. */
export interface PartOptions {
  readonly world: BenchWorld;
  /** The environment of the operator in parts that compare work, and not budgets. */
  readonly settings: Readonly<Record<string, string>>;
  readonly say: (line: string) => void;
}

/** The parts, by the name for `--part`. Each returns its result as Markdown. */
export const parts: Readonly<Record<string, (options: PartOptions) => Promise<string>>> = {
  burst: measureBursts,
  hanging: measureHanging,
  memory: measureMemory,
};

const burstSizes = [20, 100, 300] as const;

/**
 * Returns the sizes of the bursts. Where the control plane shows no names, each create lists the whole project, so 1,000
 * resources would show nothing new.
 */
const sizesOf = ({ sandboxProfile }: BenchWorld) => (sandboxProfile === "public" ? [...burstSizes, 1_000] : burstSizes);

/** Brings up more and more resources in one project, and measures what one further resource reads. */
async function measureBursts({ world, settings, say }: PartOptions): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const sizes = sizesOf(world);
  const populations = sizes.map((resources) => planPopulation(`burst${resources}`, { resources, projects: 1 }));
  const sandbox = await SandboxServer.start(world, populations);
  stack.defer(() => sandbox.stop());
  const rows: string[][] = [];
  const readEach: number[] = [];
  for (const population of populations) {
    const count = sizeOf(population);
    const sequence = await sandbox.lastSequence();
    await createPopulation(world.kube, population);
    const { result, operator } = await bringUpByOperator({ world, sandbox, population, settings });
    const read = endpointsRead(await sandbox.requestsSince(sequence));
    await operator.stop();
    readEach.push(read / count);
    const calls = (result.controlPlaneReads + result.controlPlaneWrites) / count;
    say(`burst of ${count}: ${result.seconds.toFixed(1)} s`);
    rows.push([String(count), result.seconds.toFixed(1), calls.toFixed(2), (read / count).toFixed(1)]);
  }
  const ratio = (readEach.at(-1) ?? 0) / (readEach[1] ?? 1);
  const head = ["resources of one project", "s to Ready", "calls each", "endpoints read each"];
  return `${table(head, rows)}\n\nEndpoints read for each of ${sizes.at(-1)}, by those for each of ${sizes[1]}: ${ratio.toFixed(2)}.`;
}

const memorySizes = [1_000, 5_000] as const;
const mostMemoryMiB = 256;

/** Brings up many resources, ten in each project, and measures the memory of the operator's process. */
async function measureMemory({ world, settings, say }: PartOptions): Promise<string> {
  const rows: string[][] = [];
  for (const resources of memorySizes) {
    const population = planPopulation(`memory${resources}`, { resources, projects: resources / 10 });
    await using stack = new AsyncDisposableStack();
    const sandbox = await SandboxServer.start(world, [population]);
    stack.defer(() => sandbox.stop());
    await createPopulation(world.kube, population);
    const { result, operator } = await bringUpByOperator({ world, sandbox, population, settings });
    stack.defer(() => operator.stop());
    const { inspector } = operator.process;
    const { heapUsed, heapTotal } = await inspector.evaluate<NodeJS.MemoryUsage>("process.memoryUsage()");
    const inMiB = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
    const { seconds, peakRssBytes } = result;
    say(`${resources} are Ready: ${seconds.toFixed(1)} s, peak ${inMiB(peakRssBytes)} MiB`);
    rows.push([String(resources), seconds.toFixed(1), inMiB(peakRssBytes), inMiB(heapTotal), inMiB(heapUsed)]);
  }
  const head = ["resources", "s to Ready", "peak RSS MiB", "heap MiB at the end", "of it used"];
  return `${table(head, rows)}\n\nThe peak with ${memorySizes.at(-1)} should be at most ${mostMemoryMiB} MiB.`;
}

/** Counts endpoints in the answers to lists and reads by id. A list shows the endpoints that were created before it. */
function endpointsRead(requests: readonly LoggedRequest[]): number {
  let created = 0;
  let read = 0;
  for (const { method, path, status } of requests) {
    const [, endpointId] = /\/endpoints(?:\/([^/?]+))?(?:\?|$)/.exec(path) ?? ["", "other"];
    if (method === "POST" && endpointId === undefined && status === 201) created += 1;
    if (method === "GET" && endpointId === undefined) read += created;
    if (method === "GET" && endpointId !== undefined && endpointId !== "other") read += 1;
  }
  return read;
}

const hangingProjects = 30;
const healthyCreates = 30;

/** Creates endpoints in a healthy project, first alone and then beside projects whose calls are never answered. */
async function measureHanging(options: PartOptions): Promise<string> {
  const { world, say } = options;
  await using stack = new AsyncDisposableStack();
  const alone = planPopulation("alone", { resources: healthyCreates, projects: 1 });
  const beside = planPopulation("beside", { resources: healthyCreates, projects: 1 });
  const hanging = planPopulation("hanging", { resources: hangingProjects, projects: hangingProjects });
  const sandbox = await SandboxServer.start(world, [alone, beside, hanging]);
  stack.defer(() => sandbox.stop());
  await sandbox.holdAnswers("/projects/hanging-*/**");
  for (const population of [alone, beside, hanging]) await createPopulation(world.kube, population);
  const aloneMs = await timeToReady({ ...options, sandbox, population: alone, watched: [alone] });
  say(`alone: ${(aloneMs / 1000).toFixed(1)} s`);
  const besideMs = await timeToReady({ ...options, sandbox, population: beside, watched: [beside, hanging] });
  say(`beside ${hangingProjects} projects that hang: ${(besideMs / 1000).toFixed(1)} s`);
  const rows = [
    ["alone", (aloneMs / 1000).toFixed(1)],
    [`beside ${hangingProjects} projects whose calls hang`, (besideMs / 1000).toFixed(1)],
    ["ratio, at most 1.1", (besideMs / aloneMs).toFixed(2)],
  ];
  return table([`${healthyCreates} creates in a healthy project`, "s to Ready"], rows);
}

/** Returns the milliseconds from the operator's ready state until every resource of the population is Ready. */
async function timeToReady({
  world,
  settings,
  sandbox,
  population,
  watched,
}: PartOptions & {
  readonly sandbox: SandboxServer;
  readonly population: Population;
  readonly watched: readonly Population[];
}): Promise<number> {
  const namespaces = watched.map(({ namespace }) => namespace).join(",");
  const operator = await startOperator({
    ...{ world, sandbox, population },
    settings: { ...settings, WATCH_NAMESPACES: namespaces },
  });
  try {
    const startedMs = performance.now();
    const areReady = async () => (await listPopulation(world.kube, population.namespace)).every(isReady) || undefined;
    await waitUntil(areReady, { what: "the healthy project is Ready", pauseMs: 100, timeoutMs: 300_000 });
    return performance.now() - startedMs;
  } finally {
    await operator.stop();
  }
}
