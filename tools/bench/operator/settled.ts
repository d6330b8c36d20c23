/** The measurements of an operator over settled resources. */
import { setTimeout as delay } from "node:timers/promises";
import { waitUntil } from "../../process/wait-until.ts";
import { beginCount } from "./bring-up.ts";
import { OperatorProcess, type Stage } from "./operator-process.ts";
import { isReady, listPopulation, resourcesPath, type StoredResource } from "./population.ts";
import { users } from "./world.ts";

/** Starts an operator over settled resources, which then goes on running. */
export async function measureRestart(stage: Stage) {
  const counted = await beginCount(stage, users.operator);
  const operator = await OperatorProcess.start(stage);
  // One reconcile looks at all resources of its project.
  await operator.untilQuiet(stage.population.projects.length);
  return { restart: await counted(), operator };
}

/** Waits, and counts the operator's work while nothing changes. */
export async function measureRest(stage: Stage, operator: OperatorProcess, seconds: number) {
  const before = await operator.reconciles();
  const counted = await beginCount(stage, users.operator);
  await delay(seconds * 1000);
  return { ...(await counted()), reconciles: (await operator.reconciles()) - before };
}

/**
 * Edits resources one after the other, each in another project, and waits until each is Ready again.
 * @returns for each the milliseconds from the edit until the operator sent its change to the control plane
 */
export async function measureEdits(stage: Stage, count: number): Promise<readonly number[]> {
  const stored = await listPopulation(stage.world.kube, stage.population.namespace);
  const projects = [...Map.groupBy(stored, ({ spec }) => spec.projectId).values()];
  const edits: number[] = [];
  for (let round = 0; round < count; round += 1) {
    const project = projects[round % projects.length] ?? [];
    const resource = project[Math.floor(round / projects.length) % project.length];
    if (resource === undefined) throw new Error("there is nothing to edit");
    edits.push(await edit(stage, resource));
  }
  return edits;
}

async function edit({ world, sandbox, population }: Stage, { metadata, spec }: StoredResource): Promise<number> {
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
  const prefix = `/api/v2/projects/${spec.projectId}/`;
  const calls = await sandbox.requestsSince(sequence);
  const change = calls.find((call) => call.method === "PATCH" && call.path.startsWith(prefix));
  if (change === undefined) throw new Error(`nothing was changed for ${metadata.name}`);
  return Date.parse(change.time) - startedMs;
}
