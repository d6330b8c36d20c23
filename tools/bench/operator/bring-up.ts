/** Measures how long it takes to bring up new resources. */
import { stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { startComponent, waitForComponent } from "../../process/component.ts";
import { waitUntil } from "../../process/wait-until.ts";
import { type AuditTally, tallyRequests } from "./audit-log.ts";
import type { FloorTask } from "./floor.ts";
import { OperatorProcess, type ProcessUsage, type Stage, usageOf } from "./operator-process.ts";
import { isReady, listPopulation, type Population, type StoredResource, sizeOf } from "./population.ts";
import { apiKey } from "./sandbox-server.ts";
import { users } from "./world.ts";

/** The requests of one process, to the API server and to the control plane. */
export interface RequestTally extends AuditTally {
  readonly controlPlaneReads: number;
  readonly controlPlaneWrites: number;
}

/** The costs of the bring-up of resources that no operator has seen before. */
export interface BringUp extends RequestTally, ProcessUsage {
  readonly resources: number;
  /** The number of reconciles. The floor has none. */
  readonly reconciles: number;
}

/** Brings up a population with an operator, which then goes on running. */
export async function bringUpByOperator(stage: Stage): Promise<{
  readonly result: BringUp;
  readonly operator: OperatorProcess;
}> {
  const counted = await beginCount(stage, users.operator);
  const operator = await OperatorProcess.start(stage);
  await untilAllReady(stage);
  const resources = sizeOf(stage.population);
  const [usage, reconciles] = [await operator.usage(), await operator.reconciles()];
  return { result: { resources, ...usage, reconciles, ...(await counted()) }, operator };
}

/** Brings up a population with the floor. @param example a resource that an operator has brought up */
export async function bringUpByFloor(stage: Stage, example: StoredResource): Promise<BringUp> {
  const { world, sandbox, population } = stage;
  const { namespace } = population;
  const file = path.join(world.folder, `${namespace}.json`);
  const task: FloorTask = { kube: world.floorAccess, namespace, sandboxOrigin: sandbox.origin, apiKey, example };
  await writeFile(file, JSON.stringify(task), { mode: 0o600 });
  const counted = await beginCount(stage, users.floor);
  const floor = await startComponent({
    name: "floor",
    command: process.execPath,
    args: [fileURLToPath(new URL("./floor.ts", import.meta.url)), file],
    logFile: path.join(world.folder, `${namespace}.log`),
    graceMs: 1_000,
  });
  const isDone = async () => (await floor.readLog()).includes("floor done");
  // The benchmark lists the resources meanwhile, as it does beside an operator, because that takes processor time.
  await Promise.all([waitForComponent(floor, performance.now() + longestMs(population), isDone), untilAllReady(stage)]);
  const usage = await usageOf(floor.process.pid);
  await floor.process.stop();
  return { resources: sizeOf(population), ...usage, reconciles: 0, ...(await counted()) };
}

/** Begins to count requests. @returns a function that returns the requests of the user, and all to the control plane */
export async function beginCount(
  { world: { auditLogFile: file }, sandbox, population: { namespace } }: Stage,
  user: string,
): Promise<() => Promise<RequestTally>> {
  const { size: since } = await stat(file);
  const before = await sandbox.counts();
  return async () => {
    const { reads, writes } = await sandbox.counts();
    const tally = await tallyRequests({ file, user, namespace, since });
    return { ...tally, controlPlaneReads: reads - before.reads, controlPlaneWrites: writes - before.writes };
  };
}

/** A generous time limit, because the machine may be busy. */
function longestMs(population: Population): number {
  return 300_000 + sizeOf(population) * 300;
}

/** Lists the resources only now and then, because with so many of them a list is work for the API server. */
async function untilAllReady({ world, population }: Stage): Promise<void> {
  const areReady = async () => (await listPopulation(world.kube, population.namespace)).every(isReady) || undefined;
  await waitUntil(areReady, { what: "all are Ready", timeoutMs: longestMs(population), pauseMs: 1_000 });
}
