/** The measurements of the operator over settled resources. */
import { setTimeout as delay } from "node:timers/promises";
import { waitUntil } from "../../process/wait-until.ts";
import { type BringUpStage, beginCount, startOperator } from "./bring-up.ts";
import type { OperatorProcess } from "./operator-process.ts";
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

/** Edits resources one after the other, each in another project, and waits until each is Ready again. */
export async function measureEdits(stage: BringUpStage, count: number): Promise<Edits> {
  const { world, population } = stage;
  const stored = await listPopulation(world.kube, population.namespace);
  const perProject = [...Map.groupBy(stored, ({ spec }) => spec.projectId).values()];
  const firstCallMs: number[] = [];
  const changeMs: number[] = [];
  for (let round = 0; round < count; round += 1) {
    const project = perProject[round % perProject.length] ?? [];
    const resource = project[Math.floor(round / perProject.length) % project.length];
    if (resource === undefined) throw new Error("there is nothing to edit");
    const delays = await edit(stage, resource);
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
