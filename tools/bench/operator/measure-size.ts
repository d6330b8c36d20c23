/** Measures the operator and the floor at one number of resources. */
import { type BringUp, bringUpByFloor, bringUpByOperator, type RequestTally } from "./bring-up.ts";
import type { Stage } from "./operator-process.ts";
import { createPopulation, listPopulation, planPopulation, type Size, type StoredResource } from "./population.ts";
import { SandboxServer } from "./sandbox-server.ts";
import { measureEdits, measureRest, measureRestart } from "./settled.ts";
import type { BenchWorld } from "./world.ts";

export interface BenchPlan extends Size {
  /** The number of rounds; in each, operator and floor bring up the resources one after the other. */
  readonly rounds: number;
  readonly edits: number;
  /** Longer than PROJECT_POLL_SECONDS, so that the operator looks at every project. */
  readonly restSeconds: number;
  /** The environment of the operator. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface SizeResult extends Size {
  /** The bring-ups, one for each round. */
  readonly operator: readonly BringUp[];
  readonly floor: readonly BringUp[];
  readonly restart: RequestTally;
  readonly rest: RequestTally & { readonly reconciles: number };
  /** Milliseconds from each edit until its change was sent. */
  readonly edits: readonly number[];
}

/** Runs all measurements of one size, one after the other. */
export async function measureSize(
  world: BenchWorld,
  plan: BenchPlan,
  say: (line: string) => void,
): Promise<SizeResult> {
  const { resources, projects, settings } = plan;
  const name = `n${resources}p${projects}`;
  const rounds = Array.from({ length: plan.rounds }, (_, round) => ({
    operator: planPopulation(`${name}o${round}`, plan),
    floor: planPopulation(`${name}f${round}`, plan),
  }));
  const sandbox = await SandboxServer.start(world, rounds.flatMap(Object.values));
  await using stack = new AsyncDisposableStack();
  stack.defer(sandbox.stop);
  const results = { operator: [] as BringUp[], floor: [] as BringUp[] };
  let stage: Stage | undefined;
  for (const [round, population] of rounds.entries()) {
    // The one that begins changes from round to round. They never run at the same time.
    const subjects = round % 2 === 0 ? (["operator", "floor"] as const) : (["floor", "operator"] as const);
    for (const subject of subjects) {
      const own: Stage = { world, sandbox, population: population[subject], settings };
      await createPopulation(world.kube, own.population);
      const example = stage && (await listPopulation(world.kube, stage.population.namespace))[0];
      const result = subject === "operator" ? await runOperator(own) : await runFloor(own, example);
      if (subject === "operator") stage = own;
      results[subject].push(result);
      say(`${name}: ${subject} ${result.seconds.toFixed(1)} s, ${inSeconds(result.cpuMs)} s of processor time`);
    }
  }
  if (stage === undefined) throw new Error("there was no round");
  const settled = await measureSettled(stage, plan);
  say(`${name}: ${settled.rest.reconciles} reconciles at rest`);
  return { resources, projects, ...results, ...settled };
}

async function runOperator(stage: Stage): Promise<BringUp> {
  const { result, operator } = await bringUpByOperator(stage);
  await operator.stop();
  return result;
}

async function runFloor(stage: Stage, example: StoredResource | undefined): Promise<BringUp> {
  if (example === undefined) throw new Error("the floor needs a resource of the operator");
  return await bringUpByFloor(stage, example);
}

async function measureSettled(stage: Stage, { restSeconds, edits }: BenchPlan) {
  const { restart, operator } = await measureRestart(stage);
  try {
    const rest = await measureRest(stage, operator, restSeconds);
    if (rest.reconciles < stage.population.projects.length) throw new Error("at rest not every project was polled");
    return { restart, rest, edits: await measureEdits(stage, edits) };
  } finally {
    await operator.stop();
  }
}

function inSeconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(1);
}
