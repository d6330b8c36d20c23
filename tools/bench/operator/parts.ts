// Parts of the benchmark that are not in the table of sizes: each measures one promise in one run, and prints a ratio.
import { setTimeout as delay } from "node:timers/promises";
import { waitUntil } from "../../process/wait-until.ts";
import { bringUpByOperator, startOperator } from "./bring-up.ts";
import { createPopulation, isReady, listPopulation, type Population, planPopulation, sizeOf } from "./population.ts";
import { type LoggedRequest, SandboxServer } from "./sandbox-server.ts";
import { table } from "./table.ts";
import type { BenchWorld } from "./world.ts";

/** What a part needs. */
export interface PartOptions {
  readonly world: BenchWorld;
  /** Environment of the operator in the parts that compare work, not budgets. */
  readonly settings: Readonly<Record<string, string>>;
  readonly say: (line: string) => void;
}

/** The parts, by the name that `--part` takes. Each returns its result as Markdown. */
export const parts: Readonly<Record<string, (options: PartOptions) => Promise<string>>> = {
  burst: measureBursts,
  hanging: measureHanging,
  budget: measureBudget,
};

const burstSizes = [20, 100, 300] as const;

/** Brings up more and more resources in one project: what does one more resource read? */
async function measureBursts({ world, settings, say }: PartOptions): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const populations = burstSizes.map((resources) => planPopulation(`burst${resources}`, { resources, projects: 1 }));
  const sandbox = await SandboxServer.start(world, populations);
  stack.defer(() => sandbox.stop());
  const rows: string[][] = [];
  const readEach: number[] = [];
  for (const population of populations) {
    const count = sizeOf(population);
    const sequence = await lastSequence(sandbox);
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
  return `${table(head, rows)}\n\nEndpoints read for each of ${burstSizes[2]}, by those for each of ${burstSizes[1]}: ${ratio.toFixed(2)}.`;
}

/** Endpoints in the answers to lists and reads by id. A list shows the endpoints that were created before it. */
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

/** Creates in a healthy project, alone and beside projects whose calls are never answered. */
async function measureHanging(options: PartOptions): Promise<string> {
  const { world, say } = options;
  await using stack = new AsyncDisposableStack();
  const [alone, beside] = ["alone", "beside"].map((name) =>
    planPopulation(name, { resources: healthyCreates, projects: 1 }),
  );
  const hanging = planPopulation("hanging", { resources: hangingProjects, projects: hangingProjects });
  if (alone === undefined || beside === undefined) throw new Error("there is nothing to measure");
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

/** Milliseconds from the operator's being ready until every resource of the population is. */
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

const budgetProjects = 500;
const budget = { requestsPerMinute: 700, watchedSeconds: 240 } as const;

/** Many projects at rest with the default request budget, from the start of a process on. */
async function measureBudget({ world, settings, say }: PartOptions): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const population = planPopulation("budget", { resources: budgetProjects, projects: budgetProjects });
  const sandbox = await SandboxServer.start(world, [population]);
  stack.defer(() => sandbox.stop());
  await createPopulation(world.kube, population);
  await (await bringUpByOperator({ world, sandbox, population, settings })).operator.stop();
  say(`${budgetProjects} projects are Ready`);
  const since = await world.audit.read();
  const sequence = await lastSequence(sandbox);
  const operator = await startOperator({ world, sandbox, population });
  await delay(budget.watchedSeconds * 1000);
  const requests = await sandbox.requestsSince(sequence);
  await operator.stop();
  await world.audit.read();
  const { writes, refused } = world.audit.tally(world.operator.user, since);
  const times = requests.map(({ time }) => Date.parse(time));
  const endMs = times.at(-1) ?? 0;
  const most = mostInAMinute(times);
  const atRest = times.filter((time) => time > endMs - 60_000).length;
  const rows = [
    ["most requests in a minute", String(most), String(budget.requestsPerMinute)],
    ["requests in the last minute, at rest", String(atRest), String(budget.requestsPerMinute / 2)],
    ["changes of the control plane", String(requests.filter(({ method }) => method !== "GET").length), "0"],
    ["writes to Kubernetes", String(writes + refused), "0"],
    ["most requests in a minute, by the budget", (most / budget.requestsPerMinute).toFixed(2), "1"],
  ];
  return table([`${budgetProjects} projects, ${budget.watchedSeconds} s from the start`, "measured", "at most"], rows);
}

/** @param times ascending, in milliseconds. */
function mostInAMinute(times: readonly number[]): number {
  let first = 0;
  let most = 0;
  times.forEach((time, index) => {
    while ((times[first] ?? time) <= time - 60_000) first += 1;
    most = Math.max(most, index - first + 1);
  });
  return most;
}

async function lastSequence(sandbox: SandboxServer): Promise<number> {
  return (await sandbox.requestsSince(0)).at(-1)?.sequence ?? 0;
}
