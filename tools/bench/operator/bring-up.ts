/** Measures how long it takes to bring up new resources. */
import { fileURLToPath } from "node:url";
import { waitUntil } from "../../process/wait-until.ts";
import type { AuditTally } from "./audit-tail.ts";
import type { FloorTask } from "./floor.ts";
import { InspectedProcess, type ProcessUsage } from "./inspected-process.ts";
import { OperatorProcess } from "./operator-process.ts";
import { isReady, listPopulation, type Population, sizeOf } from "./population.ts";
import type { SandboxServer } from "./sandbox-server.ts";
import { type BenchWorld, writeTask } from "./world.ts";

/** The costs of the bring-up of resources that no operator has seen before. */
export interface BringUp {
  readonly resources: number;
  /** The time from the first request for the resources to the answer of the last write, by the API server's clock. */
  readonly seconds: number;
  /** The processor time of the process, including its start. */
  readonly cpuMs: number;
  readonly peakRssBytes: number;
  /** The number of reconciles. The floor has none. */
  readonly reconciles: number;
  /** The number of writes of the resources. */
  readonly kubernetesWrites: number;
  /** Writes of the resources that the API server refused. */
  readonly kubernetesRefusals: number;
  readonly kubernetesReads: number;
  readonly kubernetesEvents: number;
  readonly controlPlaneReads: number;
  readonly controlPlaneWrites: number;
}

/** Where resources are brought up. */
export interface BringUpStage {
  readonly world: BenchWorld;
  readonly sandbox: SandboxServer;
  readonly population: Population;
  /** Further environment variables of the operator. @default none */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The maximum number of calls at the same time, in the floor and by default in the operator. */
const workers = 16;

/** Brings up a population with an operator, which then goes on running. */
export async function bringUpByOperator(stage: BringUpStage): Promise<{
  readonly result: BringUp;
  readonly operator: OperatorProcess;
}> {
  const measured = await beginMeasure(stage, stage.world.operator.user);
  const operator = await startOperator(stage);
  await measured.untilAllReady();
  const result = await measured.end(await operator.usage());
  return { result: { ...result, reconciles: await operator.reconciles() }, operator };
}

/** Starts an operator for one population, and waits until it is ready. */
export function startOperator({ world, sandbox, population, settings }: BringUpStage) {
  return OperatorProcess.start({
    program: world.program,
    settings: {
      CONTROL_PLANE_URL: `${sandbox.origin}/api/v2`,
      CONTROL_PLANE_API_KEY: sandbox.apiKey,
      KUBECONFIG: world.operator.kubeconfigFile,
      WATCH_NAMESPACES: population.namespace,
      ...settings,
    },
  });
}

/** Brings up a population with the floor. */
export async function bringUpByFloor(stage: BringUpStage): Promise<BringUp> {
  const { world, sandbox, population } = stage;
  const task: FloorTask = {
    kube: world.floor.access,
    namespace: population.namespace,
    sandboxOrigin: sandbox.origin,
    apiKey: sandbox.apiKey,
    workers,
  };
  const file = await writeTask(world, population.namespace, task);
  const measured = await beginMeasure(stage, world.floor.user);
  const program = fileURLToPath(new URL("./floor.ts", import.meta.url));
  const floor = await InspectedProcess.start({ args: [program, file], env: {} });
  const wait = { what: "the floor is done", timeoutMs: longestMs(population), lastSeen: () => floor.output() };
  const untilDone = async () => {
    const end = await waitUntil(() => /floor (done|failed)/.exec(floor.output())?.[1], wait);
    if (end === "failed") throw new Error(floor.output());
  };
  // The benchmark reads the audit log meanwhile, as it does beside an operator, because that takes processor time.
  await Promise.all([untilDone(), measured.untilAllReady()]);
  const result = await measured.end(await floor.usage());
  await floor.stop();
  return result;
}

/** Returns a generous time limit, because the machine may be busy. */
function longestMs(population: Population): number {
  return 300_000 + sizeOf(population) * 300;
}

/** Begins to count requests. @returns a function that returns the requests of the user, and all to the control plane */
export async function beginCount(
  { world: { audit }, sandbox, population: { namespace } }: BringUpStage,
  user: string,
): Promise<() => Promise<AuditTally & Pick<BringUp, "controlPlaneReads" | "controlPlaneWrites">>> {
  const since = await audit.read();
  const before = await sandbox.counts();
  return async () => {
    await audit.read();
    const tally = audit.tally({ user, namespace }, since);
    const { reads, writes } = await sandbox.counts();
    return { ...tally, controlPlaneReads: reads - before.reads, controlPlaneWrites: writes - before.writes };
  };
}

async function beginMeasure(stage: BringUpStage, user: string) {
  const { world, population } = stage;
  const counted = await beginCount(stage, user);
  const resources = sizeOf(population);
  let last = { writes: -1, seenAtMs: 0 };
  return {
    /** The list is read only when writes pause, because with so many resources a list is work for the API server. */
    untilAllReady: () =>
      waitUntil(
        async () => {
          const writes = await world.audit.readWrites();
          if (writes !== last.writes) last = { writes, seenAtMs: Date.now() };
          if (Date.now() - last.seenAtMs < 700) return undefined;
          const stored = await listPopulation(world.kube, population.namespace);
          return stored.length === resources && stored.every(isReady) ? true : undefined;
        },
        { what: "all are Ready", timeoutMs: longestMs(population), pauseMs: 250 },
      ),
    async end({ cpuMs, peakRssBytes }: ProcessUsage): Promise<BringUp> {
      const { writes, refused, reads, events, firstMs = 0, lastWriteMs = 0, ...ofControlPlane } = await counted();
      return {
        resources,
        seconds: (lastWriteMs - firstMs) / 1000,
        cpuMs,
        peakRssBytes,
        reconciles: 0,
        kubernetesWrites: writes,
        kubernetesRefusals: refused,
        kubernetesReads: reads,
        kubernetesEvents: events,
        ...ofControlPlane,
      };
    },
  };
}
