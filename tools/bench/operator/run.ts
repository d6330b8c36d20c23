/** Runs the plan of the benchmark. */
import { type BringUp, type BringUpStage, bringUpByFloor, bringUpByOperator, startOperator } from "./bring-up.ts";
import {
  type Edits,
  measureEdits,
  measureFullHeap,
  measureRest,
  measureRestart,
  measureScrapes,
  type Rest,
  type Restart,
} from "./measures.ts";
import type { OperatorProcess, ScrapeCost } from "./operator-process.ts";
import { createPopulation, planPopulation } from "./population.ts";
import { SandboxServer } from "./sandbox-server.ts";
import type { BenchWorld } from "./world.ts";

/** One number of resources at which everything is measured. */
export interface BenchSize {
  readonly resources: number;
  readonly projects: number;
  /** The number of rounds; in each, operator and floor take turns. 0: only the time at rest is measured. */
  readonly rounds: number;
  /** The number of restarts of each endpoint before the heap is measured; 0: the heap is not measured. */
  readonly restarts: number;
}

/** The measurements of one run. */
export interface BenchPlan {
  /** The sizes. Edits and scrapes are measured at the last size that has rounds. */
  readonly sizes: readonly BenchSize[];
  readonly edits: number;
  readonly scrapes: number;
  readonly restSeconds: number;
  /** The environment of the operator. @default its default settings */
  readonly settings?: Readonly<Record<string, string>>;
  /** Further environment for the time at rest. Its resyncs are the reconciles of settled resources. */
  readonly restSettings: Readonly<Record<string, string>>;
  /** The folder for processor profiles of the bring-up. @default no profiles */
  readonly profileFolder?: string | undefined;
}

/** The results of one size. */
export interface SizeResult {
  readonly resources: number;
  readonly projects: number;
  /** The operator's bring-ups, one for each round. */
  readonly operator: readonly BringUp[];
  readonly floor: readonly BringUp[];
  /** The heap after a forced garbage collection, with a full status, in bytes. */
  readonly fullHeapBytes: number | undefined;
  readonly edits: Edits | undefined;
  /** The times of edits while the page of metrics was requested. */
  readonly editsWhileScraped: Edits | undefined;
  readonly scrapes: readonly ScrapeCost[];
  readonly restart: Restart;
  readonly rest: Rest;
}

/** The results of the benchmark. */
export interface BenchResult {
  /** The processor time of an operator without resources until it is ready. Every other figure includes it. */
  readonly startCpuMs: number;
  readonly sizes: readonly SizeResult[];
}

/** Runs all measurements of the plan, one after the other. */
export async function runBenchmark(
  world: BenchWorld,
  plan: BenchPlan,
  say: (line: string) => void,
): Promise<BenchResult> {
  const startCpuMs = await measureEmptyStart(world);
  const largest = plan.sizes.findLast(({ rounds }) => rounds > 0);
  const sizes: SizeResult[] = [];
  for (const size of plan.sizes) {
    const bench = new SizeBench({ world, plan, size, say, isLargest: size === largest });
    sizes.push(await bench.run());
  }
  return { startCpuMs, sizes };
}

async function measureEmptyStart(world: BenchWorld): Promise<number> {
  const population = planPopulation("empty", { resources: 0, projects: 0 });
  const other = planPopulation("unused", { resources: 1, projects: 1 });
  await using parts = new AsyncDisposableStack();
  const sandbox = await SandboxServer.start(world, [other]);
  parts.defer(() => sandbox.stop());
  await createPopulation(world.kube, population);
  const operator = await startOperator({ world, sandbox, population });
  parts.defer(() => operator.stop());
  return (await operator.usage()).cpuMs;
}

interface SizeOptions {
  readonly world: BenchWorld;
  readonly plan: BenchPlan;
  readonly size: BenchSize;
  readonly isLargest: boolean;
  readonly say: (line: string) => void;
}

class SizeBench {
  readonly #options: SizeOptions;
  readonly #name: string;
  readonly #operatorRuns: BringUp[] = [];
  readonly #floorRuns: BringUp[] = [];

  constructor(options: SizeOptions) {
    this.#options = options;
    this.#name = `n${options.size.resources}p${options.size.projects}`;
  }

  async run(): Promise<SizeResult> {
    const { world, size, plan } = this.#options;
    const rounds = Array.from({ length: Math.max(1, size.rounds) }, (_, round) => ({
      operator: planPopulation(`${this.#name}o${round}`, size),
      floor: planPopulation(`${this.#name}f${round}`, size),
    }));
    await using parts = new AsyncDisposableStack();
    const populations = rounds.flatMap(({ operator, floor }) => (size.rounds > 0 ? [operator, floor] : [operator]));
    const sandbox = await SandboxServer.start(world, populations);
    parts.defer(() => sandbox.stop());
    const stages = rounds.map((round) => {
      const stage: BringUpStage = { world, sandbox, population: round.operator, settings: plan.settings ?? {} };
      return { stage, floorStage: { ...stage, population: round.floor } };
    });
    const last = stages.pop();
    if (last === undefined) throw new Error("there was no round");
    for (const { stage, floorStage } of stages) await this.#takeRound(stage, floorStage);
    const live = await this.#takeLastRound(last.stage, last.floorStage);
    const restStage = { ...last.stage, settings: { ...plan.settings, ...plan.restSettings } };
    return { ...live, ...(await this.#measureAtRest(restStage)) };
  }

  /** Operator and floor begin in turns; they never run at the same time. */
  async #takeRound(stage: BringUpStage, floorStage: BringUpStage): Promise<void> {
    const isFloorFirst = this.#operatorRuns.length % 2 === 1;
    if (isFloorFirst) await this.#bringUpFloor(floorStage);
    await (await this.#bringUp(stage)).stop();
    if (!isFloorFirst) await this.#bringUpFloor(floorStage);
  }

  /** The operator of this round goes on running, so it comes after the floor. */
  async #takeLastRound(stage: BringUpStage, floorStage: BringUpStage) {
    if (this.#options.size.rounds > 0) await this.#bringUpFloor(floorStage);
    const operator = await this.#bringUp(stage);
    const live = await this.#measureLive(stage, operator);
    await operator.stop();
    return live;
  }

  async #bringUp(stage: BringUpStage): Promise<OperatorProcess> {
    const { plan, world } = this.#options;
    await createPopulation(world.kube, stage.population);
    const { result, operator } = await bringUpByOperator({ ...stage, profileFolder: plan.profileFolder });
    this.#say("operator", result);
    this.#operatorRuns.push(result);
    return operator;
  }

  async #bringUpFloor(stage: BringUpStage): Promise<void> {
    await createPopulation(stage.world.kube, stage.population);
    const result = await bringUpByFloor(stage);
    this.#say("floor", result);
    this.#floorRuns.push(result);
  }

  async #measureLive(stage: BringUpStage, operator: OperatorProcess) {
    const { plan, size, isLargest } = this.#options;
    const edits = isLargest ? await measureEdits(stage, { count: plan.edits }) : undefined;
    const meanwhile = () => operator.scrape();
    const editsWhileScraped = isLargest ? await measureEdits(stage, { count: plan.edits, meanwhile }) : undefined;
    const scrapes = isLargest ? await measureScrapes(operator, plan.scrapes) : [];
    const fullHeapBytes = size.restarts > 0 ? await measureFullHeap(stage, operator, size.restarts) : undefined;
    return {
      resources: size.resources,
      projects: size.projects,
      operator: this.#operatorRuns,
      floor: this.#floorRuns,
      edits,
      editsWhileScraped,
      scrapes,
      fullHeapBytes,
    };
  }

  async #measureAtRest(stage: BringUpStage) {
    const { result: restart, operator } = await measureRestart(stage);
    try {
      const rest = await measureRest(stage, operator, this.#options.plan.restSeconds);
      this.#options.say(
        `${this.#name}: restart ${(restart.quietMs / 1000).toFixed(1)} s, ${rest.reconciles} reconciles at rest`,
      );
      return { restart, rest };
    } finally {
      await operator.stop();
    }
  }

  #say(subject: string, { seconds, cpuMs }: BringUp): void {
    this.#options.say(
      `${this.#name}: ${subject} ${seconds.toFixed(1)} s, ${(cpuMs / 1000).toFixed(1)} s of processor time`,
    );
  }
}
