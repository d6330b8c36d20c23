/** Tests which operations belong to a resource, and what caused them. */
import { describe, expect, it } from "vitest";
import type { ObservedEndpoint } from "../../../src/domain/endpoint.ts";
import type { Operation, OperationCause } from "../../../src/domain/operation.ts";
import { type LogSubject, reduceOperations } from "../../../src/operations/reduce-operations.ts";
import {
  at,
  begunState,
  branch,
  endedIds,
  endpoint,
  operation,
  otherBranch,
  ownership,
  reduceAll,
  snapshot,
  subject,
} from "./log-builders.ts";

/** Returns what status shows for a resource whose log has begun. */
function shownOf(operations: readonly Operation[], change: Partial<LogSubject> = {}) {
  const [step] = reduceAll([{ listed: operations, subject: change }], begunState(change));
  return step?.state.operations ?? [];
}

const idsOf = (operations: readonly Operation[], change: Partial<LogSubject> = {}) =>
  shownOf(operations, change).map(({ id }) => id);

const causeOf = (operations: readonly Operation[], change: Partial<LogSubject> = {}): OperationCause | undefined =>
  shownOf(operations, change)[0]?.cause;

const onBranch = (change: Partial<Operation> = {}) => operation("a", -9, { endpointId: undefined, ...change });

describe("whose operation it is", () => {
  it("nothing is owned → nothing is shown", () => {
    const nothing = subject({ ownership: undefined, previousOwnership: undefined });
    expect(reduceOperations({}, snapshot([operation("a", -9)]), nothing)).toMatchObject({ state: {}, ended: [] });
  });

  it("it names our endpoint → ours, newest first", () => {
    expect(idsOf([operation("a", -9), operation("b", -1)])).toEqual(["b", "a"]);
  });

  it("it names another endpoint of our branch → not ours", () => {
    expect(idsOf([operation("a", -9, { endpointId: "ep-else-2" })])).toEqual([]);
  });

  it("it names no endpoint, the branch's read-write endpoint is ours → ours", () => {
    expect(idsOf([onBranch()])).toEqual(["a"]);
  });

  it("it names no endpoint, ours is a replica of that branch → not ours", () => {
    expect(idsOf([onBranch()], { endpoint: endpoint({ type: "ReadOnly" }) })).toEqual([]);
  });

  it("it names no endpoint, and another branch or none → not ours", () => {
    expect(idsOf([onBranch({ branchId: otherBranch })])).toEqual([]);
    expect(idsOf([onBranch({ branchId: undefined })])).toEqual([]);
  });

  it("it names no endpoint and began before ours was on the branch → not ours", () => {
    expect(idsOf([onBranch({ createdTime: at(-3_601) })])).toEqual([]);
  });

  it("it names neither, but an answer to our own call named it → ours", () => {
    expect(idsOf([onBranch({ branchId: undefined })], { ownOperationIds: ["a"] })).toEqual(["a"]);
  });
});

describe("an endpoint that moves to another branch", () => {
  const there = endpoint({ branchId: otherBranch });
  const branchOf = (seen: ObservedEndpoint | undefined, listed: readonly Operation[] = []) =>
    reduceAll([{ listed, subject: { endpoint: seen } }])[0];

  it("seen there → that branch's operations count, from the newest listed one on, and the mark is stored", () => {
    const step = branchOf(there, [operation("x", -5, { endpointId: "ep-else-2" })]);
    expect(step?.state.operationWatermark?.branch).toEqual({ id: otherBranch, sinceTime: at(-5) });
    expect(step?.mustStore).toBe(true);
  });

  it.each([
    ["seen where it was", endpoint()],
    ["not seen", undefined],
    ["a replica", endpoint({ type: "ReadOnly", branchId: otherBranch })],
  ])("%s → the same branch", (_name, seen) => {
    expect(branchOf(seen)?.state.operationWatermark?.branch?.id).toBe(branch);
  });

  it("an operation of the branch that was left ends → is counted by the resource that met it in flight", () => {
    const running = onBranch({ status: "running" });
    const steps = reduceAll([
      { listed: [running] },
      { listed: [running], subject: { endpoint: there } },
      { listed: [onBranch()], subject: { endpoint: there } },
    ]);
    expect(steps.map(endedIds)).toEqual([[], [], ["a"]]);
    expect(steps.at(-1)?.state.operations).toEqual([]);
  });
});

describe("the cause", () => {
  const cases: readonly (readonly [string, Operation, OperationCause])[] = [
    ["a suspend", operation("a", -9, { action: "suspend_compute" }), "ControlPlane"],
    ["a start", operation("a", -9, { action: "start_compute" }), "ControlPlane"],
    ["a failed check", operation("a", -9, { action: "check_availability", status: "failed" }), "ControlPlane"],
    ["a change of configuration", operation("a", -9, { action: "apply_config" }), "Other"],
    ["an unknown action", operation("a", -9, { action: "defragment_everything" }), "Other"],
  ];

  it.each(cases)("%s that no answer of ours named → follows from its action", (_name, given, want) => {
    expect(causeOf([given])).toBe(want);
  });

  it.each(cases)("%s that an answer of ours named → SpecChange", (_name, given) => {
    expect(causeOf([given], { ownOperationIds: ["a"] })).toBe("SpecChange");
    expect(causeOf([], { answered: [given] })).toBe("SpecChange");
  });

  it("stored as ours before a restart → SpecChange", () => {
    const running = operation("a", -9, { action: "apply_config", status: "running" });
    const steps = reduceAll([
      { listed: [], subject: { answered: [running] } },
      { listed: [operation("a", -9, { action: "apply_config" })] },
    ]);
    expect(steps.at(-1)?.ended).toMatchObject([{ cause: "SpecChange" }]);
  });

  describe("of a suspend in the same second as", () => {
    const suspend = operation("b", -9, { action: "suspend_compute" });
    const change = (of: Partial<Operation>) => operation("a", -9, { action: "apply_config", ...of });
    const suspendCause = (others: readonly Operation[], given: Partial<LogSubject> = {}) =>
      shownOf([suspend, ...others], given).find(({ id }) => id === "b")?.cause;

    it("another client's change of this endpoint → Other", () => {
      expect(suspendCause([change({})])).toBe("Other");
    });

    it("another client's change, but it is an availability check → ControlPlane", () => {
      const check = operation("c", -9, { action: "check_availability", status: "failed" });
      expect(shownOf([check, change({})]).find(({ id }) => id === "c")?.cause).toBe("ControlPlane");
    });

    it("a change of another endpoint → ControlPlane", () => {
      expect(suspendCause([change({ endpointId: "ep-else-2" })])).toBe("ControlPlane");
      expect(suspendCause([change({ endpointId: undefined })])).toBe("ControlPlane");
    });

    it("our own change, whose answer did not name it → ControlPlane", () => {
      expect(suspendCause([change({})], { ownOperationIds: ["a"] })).toBe("ControlPlane");
    });
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
