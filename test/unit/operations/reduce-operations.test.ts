/** Tests the reducer of the operation log. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Operation } from "../../../src/domain/operation.ts";
import { reduceOperations } from "../../../src/operations/reduce-operations.ts";
import { watermarkIn } from "../../../src/resource/bookkeeping.ts";
import { ownership } from "../kinds/endpoint/builders.ts";
import { at, begunState, endedIds, operation, reduceAll, snapshot, stored, subject } from "./log-builders.ts";

const running = (id: string, seconds: number, change: Partial<Operation> = {}) =>
  operation(id, seconds, { status: "running", ...change });

describe("our own operations in flight", () => {
  const inFlightOf = (operations: readonly Operation[]) => {
    const given = subject({ answeredIds: ["a", "b"] });
    return reduceOperations(begunState(), snapshot(operations), given).ownInFlight.map(({ id }) => id);
  };

  it("two run, one of the control plane runs too → the two, newest first", () => {
    expect(inFlightOf([running("a", -9), running("b", -5), running("c", -1)])).toEqual(["b", "a"]);
  });

  it.each(["finished", "failed", "levitating"])("%s → holds nothing", (status) => {
    expect(inFlightOf([operation("a", -9, { status })])).toEqual([]);
  });

  it("named by this reconcile's answer, and dated before the floor → unfinished at once", () => {
    const listed = [operation("b", -9), running("a", -1_000)];
    const step = reduceOperations(begunState(), snapshot(listed), subject({ answeredIds: ["a"] }));
    expect(step.ownInFlight).toMatchObject([{ id: "a" }]);
    expect(watermarkIn(step.state)?.unfinishedIds).toEqual(["a"]);
  });
});

describe("a log that was not read", () => {
  it("nothing changes, and nothing need be stored", () => {
    const [before] = reduceAll([{ listed: [operation("a", -9, { status: "failed" }), running("b", -5)] }]);
    const step = reduceOperations(stored(before?.state ?? {}), undefined, subject());
    expect(step).toMatchObject({ state: stored(before?.state ?? {}), mustStore: false, ended: [] });
  });

  it("no endpoint was seen and no log has begun → it does not begin", () => {
    const given = subject({ previousOwnership: undefined, endpoint: undefined });
    expect(reduceOperations({}, snapshot([operation("a", -9)]), given).state.bookkeeping).toBeUndefined();
  });
});

describe("any state and any log", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom("op-1", "2026-11-21T12:00:00Z", "+275760-09-13T00:00:00.000Z"));
  // The client refuses an operation whose time of creation cannot be read.
  const time = fc.constantFrom(...["-271821-04-20T00:00:00.000Z", "2026-11-21T12:00:00Z"], at(-9), at(-900), at(9));
  const anyOperation = fc.record({
    id: text,
    projectId: text,
    branchId: fc.option(text, { nil: undefined }),
    endpointId: fc.constantFrom("ep-own-1", undefined, "ep-else-2"),
    action: text,
    createdTime: time,
    status: fc.constantFrom("running", "finished", "failed", "levitating"),
    failuresCount: fc.integer(),
    updatedTime: text,
    totalDurationMs: fc.option(fc.double(), { nil: undefined }),
    error: fc.option(text, { nil: undefined }),
  });
  const anyMark = fc.record({ floorMs: fc.oneof(fc.integer(), fc.double()), unfinishedIds: fc.array(text) });

  it("the reducer never throws, stays within its bounds, and counts no operation twice", () => {
    fc.assert(
      fc.property(
        fc.option(anyMark, { nil: undefined }),
        fc.uniqueArray(anyOperation, { maxLength: 80, selector: ({ id }) => id }),
        fc.constantFrom("Created" as const, "Adopted" as const),
        (given, operations, origin) => {
          const counted = operations
            .slice(0, 40)
            .filter((_, n) => n % 2 === 0)
            .map(({ id, createdTime }) => [id, Date.parse(createdTime)]);
          const unfinishedIds = given?.unfinishedIds ?? [];
          const countedIds = given === undefined ? [] : counted.map(([id]) => id);
          const owned = subject({ ownership: ownership({ origin }) });
          const step = reduceOperations(
            given === undefined ? {} : { bookkeeping: { operationWatermark: JSON.stringify({ ...given, counted }) } },
            snapshot(operations),
            owned,
          );
          const again = reduceOperations(stored(step.state), snapshot(operations), owned);
          const watermark = watermarkIn(step.state);
          expect(watermark?.unfinishedIds.length ?? 0).toBeLessThanOrEqual(32);
          expect(watermark?.counted.length ?? 0).toBeLessThanOrEqual(32);
          expect(step.state.operations?.length ?? 0).toBeLessThanOrEqual(20);
          expect(endedIds(step).filter((id) => countedIds.includes(id) && !unfinishedIds.includes(id))).toEqual([]);
          expect(endedIds(again)).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  });
});
