/** Tests the engine against a model of its state tables. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OperationRecord } from "../../../src/sandbox/engine/records.ts";
import { type Command, command, SideBySide } from "./model-commands.ts";

const isLong = process.env.LONG === "1";
const runs = (quick: number) => (isLong ? quick * 100 : quick);
const timeout = isLong ? 1_200_000 : 10_000;
const commands = fc.array(command, { minLength: 1, maxLength: 50, size: "max" });

const hasEnded = ({ status }: OperationRecord) => status === "finished" || status === "failed";

describe("any sequence of requests and steps of the clock", { timeout }, () => {
  test("→ every answer, endpoint and operation is what the model of the state tables says", () => {
    fc.assert(
      fc.property(commands, (sequence) => {
        const both = new SideBySide(1);
        for (const asked of sequence) {
          both.perform(asked);
          const endpoints = both.model.endpoints.filter(({ type }) => type === "read_write");
          expect(new Set(endpoints.map(({ branch }) => branch)).size).toBe(endpoints.length);
        }
      }),
      { numRuns: runs(100) },
    );
  });

  test("→ every operation ends, and no operation holds the lock when those that held it have ended", () => {
    fc.assert(
      fc.property(commands, (sequence) => {
        const both = new SideBySide(2);
        for (const asked of sequence) both.perform(asked);
        const started = both.operations().map(({ id }) => id);
        // This is longer than any sequence of operations of one request, and shorter than the time from a start to its
        // auto-suspend.
        both.perform({ kind: "step", milliseconds: 3 * 400 });
        const after = both.operations();
        const ended = new Set(after.filter(hasEnded).map(({ id }) => id));
        expect(started.filter((id) => !ended.has(id))).toEqual([]);
        const works = after.some((each) => !hasEnded(each) && each.action !== "check_availability");
        const create: Command = { kind: "createBranch" };
        both.perform(create);
        expect(both.operations().length > after.length).toBe(!works);
      }),
      { numRuns: runs(40) },
    );
  });

  test("→ paging loses and repeats nothing while operations arrive", () => {
    fc.assert(
      fc.property(commands, commands, fc.integer({ min: 1, max: 7 }), (before, during, limit) => {
        const both = new SideBySide(3);
        for (const asked of before) both.perform(asked);
        const wanted = both.operations().map(({ id }) => id);
        const arriving = during[Symbol.iterator]();
        const read: string[] = [];
        for (let last: OperationRecord | undefined; ; ) {
          const page = both.page(limit, last);
          read.push(...page.map(({ id }) => id));
          last = page.at(-1);
          if (last === undefined || read.length > wanted.length) break;
          const next = arriving.next();
          if (next.done !== true) both.perform(next.value);
        }
        // The first page may hold operations that arrived before it. No page holds an operation that arrives after it.
        expect(read).toEqual(wanted);
      }),
      { numRuns: runs(40) },
    );
  });
});

test("the same seed twice → the same log of answers and states, ids included; another seed → another", {
  timeout,
}, () => {
  for (let seed = 1; seed <= runs(5); seed += 1) {
    const [sequence = []] = fc.sample(commands, { seed, numRuns: 1 });
    const logOf = (engineSeed: number) => {
      const both = new SideBySide(engineSeed);
      for (const asked of [{ kind: "createBranch" } as const, ...sequence]) both.perform(asked);
      return both.log;
    };
    expect(logOf(seed)).toEqual(logOf(seed));
    expect(logOf(seed + 1)).not.toEqual(logOf(seed));
  }
});
