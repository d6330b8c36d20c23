/** Tests that V8's space for new objects stays small. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const source = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../../src/${path}`, import.meta.url)));

test("many short-lived objects → the space for new objects stays at 8 MiB or one step above", async () => {
  const script = `
    import { getHeapSpaceStatistics } from "node:v8";
    import { keepHeapSmall } from ${source("runtime/small-heap.ts")};
    import { systemClock } from ${source("runtime/system-clock.ts")};
    keepHeapSmall(systemClock);
    let kept = [];
    for (let round = 0; round < 150; round += 1) {
      const made = Array.from({ length: 20_000 }, (_, index) => ({ text: "x" + index }));
      kept = round % 10 === 0 ? made : kept;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    console.log(kept.length > 0 ? space.space_size : 0);
  `;
  const args = ["--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  expect(Number(stdout)).toBeGreaterThan(0);
  expect(Number(stdout)).toBeLessThanOrEqual(34 * 1024 * 1024);
});
