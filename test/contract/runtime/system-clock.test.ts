/** Tests the timers of the machine's clock. */
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/runtime/system-clock.ts";

test("more milliseconds than a timer of Node can count → does not fire at once", async () => {
  let hasFired = false;
  const far = systemClock.after(2 ** 31 + 1_000, () => {
    hasFired = true;
  });
  onTestFinished(() => far.cancel());
  await new Promise<void>((resolve) => systemClock.after(20, resolve));
  expect(hasFired).toBe(false);
});

test("a timer that is set → does not keep the process alive", () => {
  const keepers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = keepers();
  const timer = systemClock.after(60_000, () => {});
  onTestFinished(() => timer.cancel());
  expect(keepers()).toBe(before);
});
