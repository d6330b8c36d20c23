/** Tests which failures LastOperationSucceeded shows. */
import { describe, expect, it } from "vitest";
import type { Operation } from "../../../src/domain/operation.ts";
import { reduceOperations } from "../../../src/operations/reduce-operations.ts";
import { at, operation, reduceAll, stored, subject } from "./log-builders.ts";

interface Look {
  readonly operations: readonly Operation[];
  readonly acknowledge?: string;
}

const stepsOf = (looks: readonly Look[]) =>
  reduceAll(
    looks.map(({ operations, acknowledge }) => ({
      listed: operations,
      subject: { acknowledgedOperationId: acknowledge },
    })),
  );

/** Returns the ids of the failures in status after several reads of the log. */
const rememberedAfter = (...looks: readonly Look[]) =>
  (stepsOf(looks).at(-1)?.state.failedActions ?? []).map(({ operationId }) => operationId);

const start = (id: string, seconds: number, status: string, change: Partial<Operation> = {}) =>
  operation(id, seconds, { status, ...change });

describe("LastOperationSucceeded remembers", () => {
  const broken = start("op-1", -500, "failed", { failuresCount: 1 });
  const config = start("op-2", -400, "error", { action: "apply_config", failuresCount: 1 });
  const other = start("op-9", -100, "finished", { action: "suspend_compute" });

  it.each(["failed", "error", "cancelled"])("an operation ended %s → remembered", (status) => {
    expect(rememberedAfter({ operations: [start("op-1", -500, status)] })).toEqual(["op-1"]);
  });

  it.each(["finished", "skipped", "running", "levitating"])("an operation is %s → not remembered", (status) => {
    expect(rememberedAfter({ operations: [start("op-1", -500, status)] })).toEqual([]);
  });

  it("a look without failures → does not clear it", () => {
    expect(rememberedAfter({ operations: [broken] }, { operations: [] }, { operations: [] })).toEqual(["op-1"]);
  });

  it("a later success of the same action → clears it", () => {
    const later = start("op-3", -100, "finished");
    expect(rememberedAfter({ operations: [broken] }, { operations: [later, broken] })).toEqual([]);
  });

  it("a success of the same action that a clock behind dates earlier, seen in a later look → clears it", () => {
    const later = start("op-3", -503, "finished");
    expect(rememberedAfter({ operations: [broken] }, { operations: [broken, later] })).toEqual([]);
  });

  it("a success of another action → does not clear it", () => {
    expect(rememberedAfter({ operations: [broken] }, { operations: [other, broken] })).toEqual(["op-1"]);
  });

  it("an earlier success of the same action in the same look → does not clear it", () => {
    expect(rememberedAfter({ operations: [broken, start("op-0", -900, "finished")] })).toEqual(["op-1"]);
  });

  it.each([-499, -500, -501])(
    "the control plane retries the same operation with success, dated %i → clears it",
    (to) => {
      const retried = start("op-1", -500, "finished", { failuresCount: 1, updatedTime: at(to) });
      expect(rememberedAfter({ operations: [broken] }, { operations: [retried] })).toEqual([]);
    },
  );

  it("two actions failed → both, and each can be acknowledged by itself", () => {
    const operations = [config, broken];
    expect(rememberedAfter({ operations })).toEqual(["op-2", "op-1"]);
    expect(rememberedAfter({ operations }, { operations, acknowledge: "op-1" })).toEqual(["op-2"]);
  });

  it("the other failure acknowledged next → the first does not come back", () => {
    const operations = [config, broken];
    const looks = [
      { operations },
      { operations, acknowledge: "op-1" },
      { operations, acknowledge: "op-2" },
      { operations },
    ];
    expect(rememberedAfter(...looks)).toEqual([]);
  });

  it("acknowledged, then pushed out of status by newer ones → does not come back", () => {
    const newer = Array.from({ length: 25 }, (_, n) =>
      start(`n-${n}`, -90 + n, "finished", { action: "apply_config" }),
    );
    const operations = [...newer, broken];
    const looks = [
      { operations: [broken] },
      { operations: [broken], acknowledge: "op-1" },
      { operations },
      { operations },
    ];
    expect(rememberedAfter(...looks)).toEqual([]);
  });

  it("acknowledged while the log cannot be read → goes", () => {
    const [step] = stepsOf([{ operations: [broken] }]);
    const given = subject({ acknowledgedOperationId: "op-1" });
    expect(reduceOperations(stored(step?.state ?? {}), undefined, given).state.failedActions).toEqual([]);
  });

  it("a failure that the list shows late, below newer ones → remembered", () => {
    expect(rememberedAfter({ operations: [other] }, { operations: [other, broken] })).toEqual(["op-1"]);
  });

  it.each([-100, -503])("the same action failed again, dated %i → the failure that was seen last", (seconds) => {
    const second = start("op-3", seconds, "failed", { failuresCount: 1 });
    expect(rememberedAfter({ operations: [broken] }, { operations: [second, broken] })).toEqual(["op-3"]);
  });
});
