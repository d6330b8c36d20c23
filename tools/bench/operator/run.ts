/** Runs the plan of the benchmark. */
import { type BringUp, type BringUpStage, bringUpByFloor, bringUpByOperator } from "./bring-up.ts";
import { type Edits, measureEdits, measureRest, measureRestart, type Rest, type Restart } from "./measures.ts";
import type { OperatorProcess } from "./operator-process.ts";
import { createPopulation, planPopulation } from "./population.ts";
import { SandboxServer } from "./sandbox-server.ts";
import type { BenchWorld } from "./world.ts";

/** One number of resources at which everything is measured. */
export interface BenchSize {
  readonly resources: number;
  readonly projects: number;
  /** The number of rounds; in each, operator and floor take turns. */
  readonly rounds: number;
}

/** The measurements of one run. */
export interface BenchPlan {
  readonly sizes: readonly BenchSize[];
  readonly edits: number;
  readonly restSeconds: number;
  /** The environment of the operator. @default its default settings */
  readonly settings?: Readonly<Record<string, string>>;
  /** Further environment for the time at rest. Its resyncs are the reconciles of settled resources. */
  readonly restSettings: Readonly<Record<string, string>>;
}

/** The results of one size. */
export interface SizeResult {
  readonly resources: number;
  readonly projects: number;
  /** The operator's bring-ups, one for each round. */
  readonly operator: readonly BringUp[];
  readonly floor: readonly BringUp[];
  readonly edits: Edits;
  readonly restart: Restart;
  readonly rest: Rest;
}

/** Runs all measurements of the plan, one after the other. */
export async function runBenchmark(
  world: BenchWorld,
  plan: BenchPlan,
  say: (line: string) => void,
): Promise<readonly SizeResult[]> {
  const sizes: SizeResult[] = [];
  for (const size of plan.sizes) {
    sizes.push(await new SizeBench({ world, plan, size, say }).run());
  }
  return sizes;
}

interface SizeOptions {
  readonly world: BenchWorld;
  readonly plan: BenchPlan;
  readonly size: BenchSize;
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
    const rounds = Array.from({ length: size.rounds }, (_, round) => ({
      operator: planPopulation(`${this.#name}o${round}`, size),
      floor: planPopulation(`${this.#name}f${round}`, size),
    }));
    await using parts = new AsyncDisposableStack();
    const populations = rounds.flatMap(({ operator, floor }) => [operator, floor]);
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
    await this.#bringUpFloor(floorStage);
    const operator = await this.#bringUp(stage);
    const edits = await measureEdits(stage, this.#options.plan.edits);
    await operator.stop();
    const { resources, projects } = this.#options.size;
    return { resources, projects, operator: this.#operatorRuns, floor: this.#floorRuns, edits };
  }

  async #bringUp(stage: BringUpStage): Promise<OperatorProcess> {
    await createPopulation(stage.world.kube, stage.population);
    const { result, operator } = await bringUpByOperator(stage);
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
