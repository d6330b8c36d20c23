/** Tests which failures LastOperationSucceeded shows. */
import { describe, expect, it } from "vitest";
import type { Operation } from "../../../src/domain/operation.ts";
import { reduceOperations } from "../../../src/operations/reduce-operations.ts";
import { at, operation, reduceAll, stored, subject } from "./log-builders.ts";

/** One read of the log. A text is the value of the annotation `acknowledge-operation` in that read. */
type Look = readonly (Operation | string)[];

function rememberedAfter(looks: readonly Look[]): readonly string[] {
  const steps = reduceAll(
    looks.map((look) => ({
      listed: look.filter((each) => typeof each !== "string"),
      subject: { acknowledgedOperationId: look.find((each) => typeof each === "string") },
    })),
  );
  return (steps.at(-1)?.state.failedActions ?? []).map(({ operationId }) => operationId);
}

const start = (id: string, seconds: number, status: string, change: Partial<Operation> = {}) =>
  operation(id, seconds, { status, ...change });
const broken = start("op-1", -500, "failed", { failuresCount: 1 });
const config = start("op-2", -400, "error", { action: "apply_config", failuresCount: 1 });
const other = start("op-9", -100, "finished", { action: "suspend_compute" });
const both = [config, broken];
const newer = Array.from({ length: 25 }, (_, n) => start(`n-${n}`, -90 + n, "finished", { action: "apply_config" }));
const retried = (seconds: number) => start("op-1", -500, "finished", { failuresCount: 1, updatedTime: at(seconds) });

type Case = [name: string, looks: readonly Look[], remembered: readonly string[]];

describe("LastOperationSucceeded remembers", () => {
  it.each<Case>([
    ...["failed", "error", "cancelled"].map(
      (status): Case => [`an operation ended ${status} → it`, [[start("op-1", -500, status)]], ["op-1"]],
    ),
    ...["finished", "skipped", "running", "levitating"].map(
      (status): Case => [`an operation is ${status} → nothing`, [[start("op-1", -500, status)]], []],
    ),
    ["looks without failures → do not clear it", [[broken], [], []], ["op-1"]],
    ["a later success of the same action → clears it", [[broken], [start("op-3", -100, "finished"), broken]], []],
    ["… that a clock behind dates earlier → clears it", [[broken], [broken, start("op-3", -503, "finished")]], []],
    ["a success of another action → does not clear it", [[broken], [other, broken]], ["op-1"]],
    ["an earlier success of the action, same look → does not", [[broken, start("op-0", -900, "finished")]], ["op-1"]],
    ["… before the failure is read → nothing", [[start("op-3", -100, "finished"), broken]], []],
    ...[-499, -500, -501].map(
      (seconds): Case => [`it succeeds later, dated ${seconds} → clears it`, [[broken], [retried(seconds)]], []],
    ),
    ["two actions failed → both", [both], ["op-2", "op-1"]],
    ["one of two is acknowledged → the other", [both, [...both, "op-1"]], ["op-2"]],
    ["the other is acknowledged next → nothing", [both, ["op-1"], ["op-2"], both], []],
    ["acknowledged, then pushed out of status → nothing", [[broken], [broken, "op-1"], [...newer, broken]], []],
    ["the list shows a failure late, below newer ones → it", [[other], [other, broken]], ["op-1"]],
    ...[-100, -503].map(
      (seconds): Case => [
        `the action failed again, dated ${seconds} → the failure that was seen last`,
        [[broken], [start("op-3", seconds, "failed"), broken]],
        ["op-3"],
      ],
    ),
  ])("%s", (_name, looks, want) => {
    expect(rememberedAfter(looks)).toEqual(want);
  });

  it("healed by a later success before it was read → both are counted", () => {
    const [step] = reduceAll([{ listed: [start("op-3", -100, "finished"), broken] }]);
    expect(step?.ended.map(({ status }) => status)).toEqual(["finished", "failed"]);
  });

  it("acknowledged while the log cannot be read → goes", () => {
    const [step] = reduceAll([{ listed: [broken] }]);
    const given = subject({ acknowledgedOperationId: "op-1" });
    expect(reduceOperations(stored(step?.state ?? {}), undefined, given).state.failedActions).toEqual([]);
  });
});
