/** Tests which operations belong to a resource, and what caused them. */
import { describe, expect, it } from "vitest";
import type { Operation, OperationCause } from "../../../src/domain/operation.ts";
import { type LogSubject, reduceOperations } from "../../../src/operations/reduce-operations.ts";
import { endpoint, otherBranch, ownership } from "../kinds/endpoint/builders.ts";
import { at, begunState, endedIds, operation, reduceAll, snapshot, subject } from "./log-builders.ts";

/** Returns what status shows for a resource whose log has begun. */
function shownOf(operations: readonly Operation[], change: Partial<LogSubject> = {}) {
  const [step] = reduceAll([{ listed: operations, subject: change }], begunState(change));
  return step?.state.operations ?? [];
}

const ofBranch = (change: Partial<Operation> = {}) => operation("a", -9, { endpointId: undefined, ...change });

describe("whose operation it is", () => {
  const nothing = { ownership: undefined, previousOwnership: undefined };
  it.each<[string, Operation, Partial<LogSubject>, boolean]>([
    ["nothing is owned → not ours", operation("a", -9), nothing, false],
    ["it names our endpoint → ours", operation("a", -9), {}, true],
    ["it names another endpoint of our branch → not ours", operation("a", -9, { endpointId: "ep-else-2" }), {}, false],
    ["it names no endpoint, our read-write endpoint is on its branch → ours", ofBranch(), {}, true],
    ["… ours is a replica of that branch → not ours", ofBranch(), { endpoint: endpoint({ type: "ReadOnly" }) }, false],
    ["… ours was not seen → not ours", ofBranch(), { endpoint: undefined }, false],
    ["it names no endpoint and another branch → not ours", ofBranch({ branchId: otherBranch }), {}, false],
    ["it names neither → not ours", ofBranch({ branchId: undefined }), {}, false],
    ["it names no endpoint and is older than ours → not ours", ofBranch({ createdTime: at(-3_601) }), {}, false],
    ["it names neither, our call started it → ours", ofBranch({ branchId: undefined }), { answeredIds: ["a"] }, true],
  ])("%s", (_name, given, change, isOurs) => {
    expect(shownOf([given], change).map(({ id }) => id)).toEqual(isOurs ? ["a"] : []);
  });

  it("ours moves to another branch while an operation of the old one runs → counted when it ends, not shown", () => {
    const running = ofBranch({ status: "running" });
    const there = { endpoint: endpoint({ branchId: otherBranch }) };
    const steps = reduceAll([
      { listed: [running] },
      { listed: [running], subject: there },
      { listed: [ofBranch()], subject: there },
    ]);
    expect(steps.map(endedIds)).toEqual([[], [], ["a"]]);
    expect(steps.at(-1)?.state.operations).toEqual([]);
  });
});

describe("the cause", () => {
  const cases: readonly (readonly [string, OperationCause])[] = [
    ["suspend_compute", "ControlPlane"],
    ["start_compute", "ControlPlane"],
    ["check_availability", "ControlPlane"],
    ["apply_config", "Other"],
    ["defragment_everything", "Other"],
  ];
  const failed = (action: string) => operation("a", -9, { action, status: "failed" });

  it.each(cases)("%s that no answer of ours named → %s; else SpecChange", (action, want) => {
    const given = [{}, { answeredIds: ["a"] }];
    const causes = given.map((each) => shownOf([failed(action)], each)[0]?.cause);
    expect(causes).toEqual([want, "SpecChange"]);
  });

  it("stored as ours before a restart → SpecChange", () => {
    const running = operation("a", -9, { action: "apply_config", status: "running" });
    const steps = reduceAll([
      { listed: [running], subject: { answeredIds: ["a"] } },
      { listed: [operation("a", -9, { action: "apply_config" })] },
    ]);
    expect(steps.at(-1)?.ended).toMatchObject([{ cause: "SpecChange" }]);
  });

  it("of a correction → Drift, also after a restart, and it still counts as our own work", () => {
    const running = operation("a", -9, { action: "apply_config", status: "running" });
    const steps = reduceAll([
      { listed: [running], subject: { answeredIds: ["a"], answeredCause: "Drift" } },
      { listed: [running] },
      { listed: [operation("a", -9, { action: "apply_config" })] },
    ]);
    expect(steps.map(({ ownInFlight }) => ownInFlight.length)).toEqual([1, 1, 0]);
    expect(steps.at(-1)?.ended).toMatchObject([{ cause: "Drift" }]);
  });

  const ofOther = { endpointId: "ep-else-2" };
  it.each<[string, string, Partial<Operation>, Partial<LogSubject>, OperationCause]>([
    ["a suspend, and another client's change of this endpoint", "suspend_compute", {}, {}, "Other"],
    ["a check, and another client's change of this endpoint", "check_availability", {}, {}, "ControlPlane"],
    ["a suspend, and a change of another endpoint", "suspend_compute", ofOther, {}, "ControlPlane"],
    ["a suspend, and a change of no endpoint", "suspend_compute", { endpointId: undefined }, {}, "ControlPlane"],
    ["a suspend, and our own change", "suspend_compute", {}, { answeredIds: ["a"] }, "ControlPlane"],
  ])("%s in the same second → %5$s", (_name, action, change, given, want) => {
    const others = [operation("a", -9, { action: "apply_config", ...change })];
    const shown = shownOf([operation("b", -9, { action, status: "failed" }), ...others], given);
    expect(shown.find(({ id }) => id === "b")?.cause).toBe(want);
  });

  it.each([
    ["Created", "SpecChange"],
    ["Adopted", "ControlPlane"],
  ] as const)("a start in flight when the log of a %s endpoint begins, named by no answer → %s", (origin, want) => {
    const recording = subject({ previousOwnership: undefined, ownership: ownership({ origin }) });
    const running = operation("a", -3_598, { status: "running" });
    expect(reduceOperations({}, snapshot([running]), recording).state.operations?.[0]?.cause).toBe(want);
  });
});
