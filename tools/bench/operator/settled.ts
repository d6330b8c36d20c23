/** The measurements of an operator over settled resources. */
import { setTimeout as delay } from "node:timers/promises";
import { waitUntil } from "../../process/wait-until.ts";
import { beginCount, type RequestTally } from "./bring-up.ts";
import { OperatorProcess, type Stage } from "./operator-process.ts";
import { isReady, listPopulation, resourcesPath, type StoredResource } from "./population.ts";
import { users } from "./world.ts";

/** The result of a start over settled resources. */
export interface Restart extends RequestTally {
  /** The time from the start of the process until it was ready, with the list in its cache. */
  readonly readyMs: number;
  /** The time from the start of the process until it had reconciled every resource and had nothing left to do. */
  readonly quietMs: number;
}

/** The result of some time without any change. */
export interface Rest extends RequestTally {
  /** The number of reconciles within that time. */
  readonly reconciles: number;
  readonly controlPlaneReadsPerMinute: number;
}

/** The times of one edit while all other resources are settled, in milliseconds from the request of the edit. */
export interface Edit {
  /** Until the operator's first call to the control plane about it. */
  readonly firstCallMs: number;
  /** Until the operator sent its change to the control plane. */
  readonly changeMs: number;
}

/** Starts an operator over settled resources, which then goes on running. */
export async function measureRestart(stage: Stage): Promise<{
  readonly restart: Restart;
  readonly operator: OperatorProcess;
}> {
  const counted = await beginCount(stage, users.operator);
  const operator = await OperatorProcess.start(stage);
  const { readyMs } = operator;
  // One reconcile looks at all resources of its project.
  const quietMs = readyMs + (await operator.untilQuiet(stage.population.projects.length));
  return { restart: { readyMs, quietMs, ...(await counted()) }, operator };
}

/** Waits, and counts the operator's work while nothing changes. */
export async function measureRest(stage: Stage, operator: OperatorProcess, seconds: number): Promise<Rest> {
  const before = await operator.reconciles();
  const counted = await beginCount(stage, users.operator);
  await delay(seconds * 1000);
  const counts = await counted();
  const controlPlaneReadsPerMinute = (counts.controlPlaneReads * 60) / seconds;
  return { ...counts, reconciles: (await operator.reconciles()) - before, controlPlaneReadsPerMinute };
}

/** Edits resources one after the other, each in another project, and waits until each is Ready again. */
export async function measureEdits(stage: Stage, count: number): Promise<readonly Edit[]> {
  const stored = await listPopulation(stage.world.kube, stage.population.namespace);
  const projects = [...Map.groupBy(stored, ({ spec }) => spec.projectId).values()];
  const edits: Edit[] = [];
  for (let round = 0; round < count; round += 1) {
    const project = projects[round % projects.length] ?? [];
    const resource = project[Math.floor(round / projects.length) % project.length];
    if (resource === undefined) throw new Error("there is nothing to edit");
    edits.push(await edit(stage, resource));
  }
  return edits;
}

async function edit({ world, sandbox, population }: Stage, { metadata, spec }: StoredResource): Promise<Edit> {
  const path = resourcesPath(population.namespace, metadata.name);
  const sequence = await sandbox.lastSequence();
  // Each edit sets another delay. None of these delays passes within this run, and a new delay does not restart the
  // compute.
  const suspend = { mode: "After", afterSeconds: 10_000 + (sequence % 100_000) };
  const startedMs = Date.now();
  await world.kube.patch(path, { spec: { suspend } });
  await waitUntil(async () => isReady(await world.kube.get<StoredResource>(path)) || undefined, {
    what: `${metadata.name} is Ready again`,
  });
  const all = await sandbox.requestsSince(sequence);
  const calls = all.filter((call) => call.path.startsWith(`/api/v2/projects/${spec.projectId}/`));
  const [first, change] = [calls[0], calls.find(({ method }) => method === "PATCH")];
  if (first === undefined || change === undefined) throw new Error(`nothing was changed for ${metadata.name}`);
  return { firstCallMs: Date.parse(first.time) - startedMs, changeMs: Date.parse(change.time) - startedMs };
}
