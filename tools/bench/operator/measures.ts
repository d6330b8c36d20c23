/** The measurements of the operator over settled resources. */
import { setTimeout as delay } from "node:timers/promises";
import { waitUntil } from "../../process/wait-until.ts";
import { type BringUpStage, beginCount, startOperator } from "./bring-up.ts";
import type { OperatorProcess, ScrapeCost } from "./operator-process.ts";
import { isReady, listPopulation, resourcesPath, type StoredResource } from "./population.ts";

/** The result of a start over settled resources. */
export interface Restart {
  /** The time from the start of the process until it was ready, with the list in its cache. */
  readonly readyMs: number;
  /** The time from the start of the process until it had reconciled every resource and had nothing left to do. */
  readonly quietMs: number;
  readonly kubernetesWrites: number;
  readonly controlPlaneWrites: number;
  readonly controlPlaneReads: number;
}

/** The result of some time without any change. */
export interface Rest {
  readonly seconds: number;
  /** The number of reconciles within that time. */
  readonly reconciles: number;
  readonly kubernetesWrites: number;
  readonly kubernetesEvents: number;
  readonly controlPlaneWrites: number;
  readonly controlPlaneReadsPerMinute: number;
}

/** The times of edits of one resource while all others are settled, in milliseconds. */
export interface Edits {
  /** From the request of the edit to the operator's first call to the control plane about it. */
  readonly firstCallMs: readonly number[];
  /** From the request of the edit until the operator sent its change to the control plane. */
  readonly changeMs: readonly number[];
}

/** Starts an operator over settled resources, which then goes on running. */
export async function measureRestart(stage: BringUpStage): Promise<{
  readonly result: Restart;
  readonly operator: OperatorProcess;
}> {
  const counted = await beginOwnCount(stage);
  const operator = await startOperator(stage);
  const { readyMs } = operator;
  // One reconcile looks at all resources of its project.
  const quietMs = readyMs + (await operator.untilQuiet(stage.population.projects.length));
  return { result: { readyMs, quietMs, ...(await counted()) }, operator };
}

/** Waits, and counts the operator's work while nothing changes. */
export async function measureRest(stage: BringUpStage, operator: OperatorProcess, seconds: number): Promise<Rest> {
  const reconcilesBefore = await operator.reconciles();
  const counted = await beginOwnCount(stage);
  await delay(seconds * 1000);
  const { controlPlaneReads, ...counts } = await counted();
  const reconciles = (await operator.reconciles()) - reconcilesBefore;
  return { seconds, reconciles, ...counts, controlPlaneReadsPerMinute: (controlPlaneReads * 60) / seconds };
}

/** Begins to count the operator's requests. @returns a function that ends the count */
async function beginOwnCount(stage: BringUpStage) {
  const counted = await beginCount(stage, stage.world.operator.user);
  return async () => {
    const { writes, refused, events, controlPlaneReads, controlPlaneWrites } = await counted();
    return { kubernetesWrites: writes + refused, kubernetesEvents: events, controlPlaneReads, controlPlaneWrites };
  };
}

/**
 * Edits resources one after the other, each in another project, and waits until each is Ready again.
 * @param meanwhile begins together with each edit: further work for the operator. @default nothing
 */
export async function measureEdits(
  stage: BringUpStage,
  { count, meanwhile }: { readonly count: number; readonly meanwhile?: () => Promise<unknown> },
): Promise<Edits> {
  const { world, population } = stage;
  const stored = await listPopulation(world.kube, population.namespace);
  const perProject = [...Map.groupBy(stored, ({ spec }) => spec.projectId).values()];
  const firstCallMs: number[] = [];
  const changeMs: number[] = [];
  for (let round = 0; round < count; round += 1) {
    const project = perProject[round % perProject.length] ?? [];
    const resource = project[Math.floor(round / perProject.length) % project.length];
    if (resource === undefined) throw new Error("there is nothing to edit");
    const work = meanwhile?.();
    const delays = await edit(stage, resource);
    await work;
    firstCallMs.push(delays.firstCallMs);
    changeMs.push(delays.changeMs);
  }
  return { firstCallMs, changeMs };
}

async function edit({ world, sandbox, population }: BringUpStage, { metadata, spec }: StoredResource) {
  const path = resourcesPath(population.namespace, metadata.name);
  const sequence = await sandbox.lastSequence();
  // Each edit sets another delay. None of these delays passes within this run, and a new delay does not restart the
  // compute.
  const afterSeconds = 10_000 + (sequence % 100_000);
  const startedMs = Date.now();
  const suspend = { mode: "After", afterSeconds };
  await world.kube.request({
    method: "PATCH",
    path,
    contentType: "application/merge-patch+json",
    body: { spec: { suspend } },
  });
  const isSettled = async () => isReady(await world.kube.request<StoredResource>({ method: "GET", path })) || undefined;
  await waitUntil(isSettled, { what: `${metadata.name} is Ready again` });
  const calls = (await sandbox.requestsSince(sequence)).filter((call) =>
    call.path.startsWith(`/api/v2/projects/${spec.projectId}/`),
  );
  const delayOf = (isWanted: (method: string) => boolean) => {
    const call = calls.find(({ method }) => isWanted(method));
    if (call === undefined) throw new Error(`nothing was called for ${metadata.name}`);
    return Date.parse(call.time) - startedMs;
  };
  return { firstCallMs: delayOf(() => true), changeMs: delayOf((method) => method === "PATCH") };
}

/**
 * Restarts every endpoint this many times, waits until status shows it, and returns the size of the operator's heap in
 * bytes.
 */
export async function measureFullHeap(
  { world, sandbox, population }: BringUpStage,
  operator: OperatorProcess,
  restarts: number,
): Promise<number> {
  const lastOperations = await sandbox.restartAll(population.projects, restarts);
  // A restart is two operations, after the first start. Status keeps twenty.
  const count = Math.min(20, 1 + 2 * restarts);
  const isFull = (resource: StoredResource) => {
    const { ownership, operations = [] } = resource.status ?? {};
    const last = operations.find(({ id }) => id === lastOperations.get(ownership?.endpointId ?? ""));
    return isReady(resource) && operations.length >= count && last?.durationMilliseconds !== undefined;
  };
  const areAllFull = async () => (await listPopulation(world.kube, population.namespace)).every(isFull) || undefined;
  await waitUntil(areAllFull, { what: `status shows ${count} operations, the last one ended`, pauseMs: 2_000 });
  // The operator keeps a project's log until all its resources have counted it. The next poll finds that, and the poll
  // after it drops the log.
  const sequence = await sandbox.lastSequence();
  const isPolled = async () => {
    const reads = (await sandbox.requestsSince(sequence)).filter(({ method }) => method === "GET");
    const polls = Map.groupBy(reads, ({ path }) => path);
    const lists = [...polls].filter(([path, times]) => path.endsWith("/endpoints") && times.length >= 2);
    return lists.length >= population.projects.length || undefined;
  };
  await waitUntil(isPolled, { what: "every project has been polled twice", pauseMs: 1_000, timeoutMs: 180_000 });
  await operator.untilQuiet();
  return operator.process.inspector.heapBytes();
}

/** Reads the page of metrics this many times, with a pause in between. */
export async function measureScrapes(operator: OperatorProcess, count: number): Promise<readonly ScrapeCost[]> {
  const costs: ScrapeCost[] = [];
  for (let round = 0; round < count; round += 1) {
    costs.push(await operator.scrape());
    await delay(300);
  }
  return costs;
}
