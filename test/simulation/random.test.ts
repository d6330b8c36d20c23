/** Runs random simulations. */
import { expect, test } from "vitest";
import { runInThreads } from "../../tools/simulate/pool.ts";
import { run } from "./run/run.ts";
import { randomPlans } from "./workloads/random-runs.ts";

const seeds = process.env.LONG === "1" ? 100_000 : 2_000;

test(`${seeds} random runs → no promise is broken but by known failures`, { timeout: 10_800_000 }, async () => {
  const broken: string[] = [];
  await runInThreads({ task: "Seeds", from: 1, count: seeds, batch: 25 }, ({ name, problems }) => {
    broken.push(...problems.map((problem) => `npm run simulate -- --seed ${name}: ${problem}`));
  });
  expect(broken).toEqual([]);
});

const forgetful = process.env.LONG === "1" ? 20_000 : 2_000;

test(`${forgetful} random runs in which the operator forgets → no promise is broken`, {
  timeout: 10_800_000,
}, async () => {
  const broken: string[] = [];
  await runInThreads({ task: "Amnesia", from: 1, count: forgetful, batch: 25 }, ({ name, problems }) => {
    broken.push(...problems.map((problem) => `npm run simulate -- --amnesia --seed ${name}: ${problem}`));
  });
  expect(broken).toEqual([]);
});

const kinds = Object.keys(randomPlans) as (keyof typeof randomPlans)[];
const runs = kinds.flatMap((kind) => [3, 17, 42, 101].map((seed) => ({ kind, seed })));

test.for(runs)("$kind, seed $seed, run twice → the same log, byte by byte", async ({ kind, seed }) => {
  const [first, second] = [await run(randomPlans[kind](seed)), await run(randomPlans[kind](seed))];
  expect(first.world.log.entries.length).toBeGreaterThan(10);
  expect(second.world.log.digest()).toBe(first.world.log.digest());
});
