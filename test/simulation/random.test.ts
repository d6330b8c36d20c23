/** Runs random simulations. */
import { expect, test } from "vitest";
import { runInThreads } from "../../tools/simulate/pool.ts";
import { run } from "./run/run.ts";
import { randomPlans } from "./workloads/random-runs.ts";

const isLong = process.env.LONG === "1";
const few = isLong ? 20_000 : 300;

test.each([
  { task: "Seeds", flag: "", count: isLong ? 100_000 : 2_000, batch: 25 },
  { task: "Amnesia", flag: "--amnesia ", count: isLong ? 20_000 : 2_000, batch: 25 },
  { task: "Accesses", flag: "--accesses ", count: few, batch: 10 },
  { task: "Branches", flag: "--branches ", count: few, batch: 10 },
  { task: "Disruption", flag: "--disruption ", count: isLong ? 20_000 : 60, batch: 5 },
  { task: "Planes", flag: "--planes ", count: few, batch: 10 },
  { task: "Usage", flag: "--usage ", count: few, batch: 10 },
] as const)(
  "$task: $count random runs → no promise is broken but by known failures",
  { timeout: 10_800_000 },
  async ({ flag, ...runs }) => {
    const broken: string[] = [];
    await runInThreads({ ...runs, from: 1 }, ({ name, problems }) => {
      broken.push(...problems.map((problem) => `npm run simulate -- ${flag}--seed ${name}: ${problem}`));
    });
    expect(broken).toEqual([]);
  },
);

const kinds = Object.keys(randomPlans) as (keyof typeof randomPlans)[];
const runs = kinds.flatMap((kind) => (isLong ? [3, 17, 42, 101] : [3, 42]).map((seed) => ({ kind, seed })));

test.for(runs)("$kind, seed $seed, run twice → the same log, byte by byte", async ({ kind, seed }) => {
  const [first, second] = [await run(randomPlans[kind](seed)), await run(randomPlans[kind](seed))];
  expect(first.world.log.entries.length).toBeGreaterThan(10);
  expect(second.world.log.digest()).toBe(first.world.log.digest());
});
