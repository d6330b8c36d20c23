/** Tests the steps of a shutdown. */
import { describe, expect, it } from "vitest";
import { shutDown } from "../../../src/runtime/shutdown.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

function begin(runs: Readonly<Record<string, () => Promise<unknown>>>) {
  const clock = new FakeClock();
  const begun: string[] = [];
  const steps = Object.entries(runs).map(([name, run]) => ({
    name,
    limitMs: 1_000,
    run: () => {
      begun.push(`${name} at ${clock.monotonicMs() - 1_000}`);
      return run();
    },
  }));
  return { clock, begun, ended: shutDown(steps, { clock, logger: quietLogger }) };
}

const never = () => new Promise<never>(() => {});

describe("a shutdown", () => {
  it("steps that end → one after the other, nothing is left unfinished", async () => {
    const gate = Promise.withResolvers<void>();
    const { clock, begun, ended } = begin({ first: () => gate.promise, second: async () => true });
    await clock.advance(300);
    expect(begun).toEqual(["first at 0"]);
    gate.resolve();
    expect(await ended).toEqual([]);
    expect(begun).toEqual(["first at 0", "second at 300"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("a step that never ends → the next one begins when its time is over", async () => {
    const { clock, begun, ended } = begin({ reconciles: never, lease: never, close: async () => {} });
    await clock.advance(5_000);
    expect(await ended).toEqual(["reconciles", "lease"]);
    expect(begun).toEqual(["reconciles at 0", "lease at 1000", "close at 2000"]);
  });

  it("a step that fails, one that says it is not done → named, and the rest goes on", async () => {
    const { ended } = begin({
      fails: () => Promise.reject(new Error("x")),
      unfinished: async () => false,
      well: async () => undefined,
    });
    expect(await ended).toEqual(["fails", "unfinished"]);
  });
});
