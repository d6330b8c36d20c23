/** Tests by simulation that control planes which resources describe stay apart, and go last. */
import { expect, test } from "vitest";
import { runInThreads } from "../../tools/simulate/pool.ts";

const seeds = process.env.LONG === "1" ? 20_000 : 300;

test(`${seeds} random runs with ControlPlanes → no promise is broken`, { timeout: 10_800_000 }, async () => {
  const broken: string[] = [];
  await runInThreads({ task: "Planes", from: 1, count: seeds, batch: 10 }, ({ name, problems }) => {
    broken.push(...problems.map((problem) => `npm run simulate -- --planes --seed ${name}: ${problem}`));
  });
  expect(broken).toEqual([]);
});
