/** Tests when a stopping operator releases its Lease. */
import { expect, test } from "vitest";
import { stopOperator } from "../../../src/wiring/operator.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

/** Stops an operator whose events are never answered, if asked for. @returns what it did, in order */
async function stop(doesAnswerEvents: boolean): Promise<readonly string[]> {
  const clock = new FakeClock();
  const steps: string[] = [];
  const note = async (step: string) => steps.push(step) > 0;
  const parts = {
    stopWork: () => note("work"),
    events: { flush: () => (doesAnswerEvents ? note("events") : new Promise<never>(() => {})) },
    fence: { close: () => void steps.push("fence") },
    leadership: { stop: () => note("stop"), release: () => note("release") },
  } as unknown as Parameters<typeof stopOperator>[0];
  const stopped = stopOperator(parts, () => note("close"), { clock, logger: quietLogger });
  await clock.advance(60_000);
  expect(await stopped, "reconciles have ended").toBe(true);
  return steps;
}

test.each([
  ["nothing is under way", true, ["work", "events", "fence", "release", "close"]],
  ["a write is still under way", false, ["work", "fence", "stop", "close"]],
])("asked to stop, and %s → the lease is handed over only in the first case", async (_what, isAnswered, steps) => {
  expect(await stop(isAnswered)).toEqual(steps);
});
