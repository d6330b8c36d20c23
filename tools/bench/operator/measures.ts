import { setTimeout as delay } from "node:timers/promises";
import { waitUntil } from "../../process/wait-until.ts";
import { type BringUpStage, startOperator } from "./bring-up.ts";
import type { OperatorProcess, ScrapeCost } from "./operator-process.ts";
import { isReady, listPopulation, resourcesPath, type StoredResource, sizeOf } from "./population.ts";

/** A start over resources that are settled. */
export interface Restart {
  readonly resources: number;
  readonly projects: number;
  /** From the start of the process until it was ready: the list is in its cache. */
  readonly readyMs: number;
  /** From the start of the process until it had looked at every resource and had nothing left to do. */
  readonly quietMs: number;
  readonly kubernetesWrites: number;
  readonly controlPlaneWrites: number;
  readonly controlPlaneReads: number;
}

/** Some time without any change. */
export interface Rest {
  readonly resources: number;
  readonly projects: number;
  readonly seconds: number;
  /** Reconciles of settled resources within that time. */
  readonly reconciles: number;
  readonly kubernetesWrites: number;
  readonly kubernetesEvents: number;
  readonly controlPlaneWrites: number;
  readonly controlPlaneReadsPerMinute: number;
}

/** Edits of one resource while all others are settled, in milliseconds. */
export interface Edits {
  readonly resources: number;
  /** From the edit's being sent to the API server until the operator's first call to the control plane about it. */
  readonly firstCallMs: readonly number[];
  /** Until its change was sent to the control plane. */
  readonly changeMs: readonly number[];
}

/** Starts an operator over settled resources; it goes on running. */
export async function measureRestart(stage: BringUpStage): Promise<{
  readonly result: Restart;
  readonly operator: OperatorProcess;
}> {
  const counted = await beginCount(stage);
  const operator = await startOperator(stage);
  const resources = sizeOf(stage.population);
  const projects = stage.population.projects.length;
  // One reconcile looks at all resources of its project.
  const quietMs = operator.readyMs + (await operator.untilQuiet(projects));
  const { kubernetesWrites, controlPlaneWrites, controlPlaneReads } = await counted.end();
  const result: Restart = {
    resources,
    projects,
    readyMs: operator.readyMs,
    quietMs,
    kubernetesWrites,
    controlPlaneWrites,
    controlPlaneReads,
  };
  return { result, operator };
}

/** Waits, and counts what an operator does although nothing happens. */
export async function measureRest(stage: BringUpStage, operator: OperatorProcess, seconds: number): Promise<Rest> {
  const reconcilesBefore = await operator.reconciles();
  const counted = await beginCount(stage);
  await delay(seconds * 1000);
  const { kubernetesWrites, kubernetesEvents, controlPlaneWrites, controlPlaneReads } = await counted.end();
  return {
    resources: sizeOf(stage.population),
    projects: stage.population.projects.length,
    seconds,
    reconciles: (await operator.reconciles()) - reconcilesBefore,
    kubernetesWrites,
    kubernetesEvents,
    controlPlaneWrites,
    controlPlaneReadsPerMinute: (controlPlaneReads * 60) / seconds,
  };
}

async function beginCount({ world, sandbox }: BringUpStage) {
  const since = await world.audit.read();
  const before = await sandbox.counts();
  return {
    async end() {
      await world.audit.read();
      const { writes, refused, events } = world.audit.tally(world.operator.user, since);
      const after = await sandbox.counts();
      return {
        kubernetesWrites: writes + refused,
        kubernetesEvents: events,
        controlPlaneReads: after.reads - before.reads,
        controlPlaneWrites: after.writes - before.writes,
      };
    },
  };
}

/**
 * Edits one resource after the other, each of another project, and waits until each is Ready again.
 *
 * @param meanwhile begins with each edit: what the operator has to do at the same time. @default nothing
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
  for (let turn = 0; turn < count; turn += 1) {
    const project = perProject[turn % perProject.length] ?? [];
    const resource = project[Math.floor(turn / perProject.length) % project.length];
    if (resource === undefined) throw new Error("there is nothing to edit");
    const work = meanwhile?.();
    const delays = await edit(stage, resource);
    await work;
    firstCallMs.push(delays.firstCallMs);
    changeMs.push(delays.changeMs);
  }
  return { resources: stored.length, firstCallMs, changeMs };
}

async function edit({ world, sandbox, population }: BringUpStage, { metadata, spec }: StoredResource) {
  const path = resourcesPath(population.namespace, metadata.name);
  const sequence = (await sandbox.requestsSince(0)).at(-1)?.sequence ?? 0;
  // Another delay each time, and none that comes within this run; it does not restart the compute.
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

/** Restarts every endpoint so many times, waits until status shows it, and returns the operator's heap in bytes. */
export async function measureFullHeap(
  { world, sandbox, population }: BringUpStage,
  operator: OperatorProcess,
  restarts: number,
): Promise<number> {
  const lastOperations = await sandbox.restartAll(population.projects, restarts);
  // A restart is two operations, beside the first start; status keeps twenty.
  const count = Math.min(20, 1 + 2 * restarts);
  const isFull = (resource: StoredResource) => {
    const { ownership, operations = [] } = resource.status ?? {};
    const last = operations.find(({ id }) => id === lastOperations.get(ownership?.endpointId ?? ""));
    return isReady(resource) && operations.length >= count && last?.durationMilliseconds !== undefined;
  };
  const areAllFull = async () => (await listPopulation(world.kube, population.namespace)).every(isFull) || undefined;
  await waitUntil(areAllFull, { what: `status shows ${count} operations, the last one ended`, pauseMs: 2_000 });
  // A project's log is kept until all its resources have counted it. The next poll finds that; the poll after it drops the log.
  const sequence = (await sandbox.requestsSince(0)).at(-1)?.sequence ?? 0;
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

/** Reads the page of metrics so often, with a pause in between. */
export async function measureScrapes(operator: OperatorProcess, count: number): Promise<readonly ScrapeCost[]> {
  const costs: ScrapeCost[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    costs.push(await operator.scrape());
    await delay(300);
  }
  return costs;
}
