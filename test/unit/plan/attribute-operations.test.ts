import { describe, expect, it } from "vitest";
import type { Operation, OperationCause } from "../../../src/domain/operation.ts";
import { operationsOf } from "../../../src/plan/attribute-operations.ts";
import { endpoint, memory, observation, operation, otherBranch, owned, ownership, timeAt } from "./builders.ts";

const ids = (given: Parameters<typeof operationsOf>[0]) => operationsOf(given).map(({ operation: { id } }) => id);
const causeOf = (operations: readonly Operation[], change: Parameters<typeof owned>[1] = {}) =>
  operationsOf(owned({}, { ...change, operations }))[0]?.cause;

describe("whose operation it is", () => {
  it("nothing owned → nobody's", () => {
    expect(ids(observation({ operations: [operation()] }))).toEqual([]);
  });

  it("names our endpoint → ours, newest first", () => {
    const operations = [
      operation({ id: "a", createdTime: timeAt(-9_000) }),
      operation({ id: "b", createdTime: timeAt(-1_000) }),
    ];
    expect(ids(owned({}, { operations }))).toEqual(["b", "a"]);
  });

  it("names another endpoint of our branch → not ours", () => {
    expect(ids(owned({}, { operations: [operation({ endpointId: "ep-else-2" })] }))).toEqual([]);
  });

  it("names no endpoint, our branch's read-write endpoint is ours → ours", () => {
    expect(ids(owned({}, { operations: [operation({ endpointId: undefined })] }))).toEqual(["op-1"]);
  });

  it("names no endpoint, ours is a replica of that branch → not ours", () => {
    const given = owned(
      { type: "ReadOnly" },
      { endpoint: { type: "ReadOnly" }, operations: [operation({ endpointId: undefined })] },
    );
    expect(ids(given)).toEqual([]);
  });

  it("names no endpoint, another branch → not ours", () => {
    expect(ids(owned({}, { operations: [operation({ endpointId: undefined, branchId: otherBranch })] }))).toEqual([]);
  });

  it("names neither endpoint nor branch → not ours", () => {
    expect(ids(owned({}, { operations: [operation({ endpointId: undefined, branchId: undefined })] }))).toEqual([]);
  });

  it("names neither, but an answer to our own call named it → ours", () => {
    const operations = [operation({ endpointId: undefined, branchId: undefined })];
    expect(ids(owned({}, { operations, memory: memory({ ownOperationIds: ["op-1"] }) }))).toEqual(["op-1"]);
  });

  it("names only the branch we want to move to → not ours", () => {
    const given = owned(
      { branchId: otherBranch },
      {
        endpoints: [endpoint(), endpoint({ id: "ep-there-2", branchId: otherBranch })],
        operations: [operation({ endpointId: undefined, branchId: otherBranch })],
      },
    );
    expect(ids(given)).toEqual([]);
  });

  it("names only the branch our endpoint still is on → ours", () => {
    const given = owned({ branchId: otherBranch }, { operations: [operation({ endpointId: undefined })] });
    expect(ids(given)).toEqual(["op-1"]);
  });
});

describe("who started it", () => {
  const cases: readonly (readonly [string, Operation, OperationCause])[] = [
    ["a suspend", operation({ action: "suspend_compute" }), "ControlPlane"],
    ["a start", operation({ action: "start_compute" }), "ControlPlane"],
    ["a check", operation({ action: "check_availability" }), "ControlPlane"],
    ["a change of configuration", operation({ action: "apply_config" }), "Other"],
    ["an action nobody knows", operation({ action: "defragment_everything" }), "Other"],
  ];
  it.each(cases)("%s that no answer of ours named → is told apart by its action", (_name, given, want) => {
    expect(causeOf([given])).toBe(want);
  });

  it.each(cases)("%s that an answer of ours named → SpecChange", (_name, given) => {
    expect(causeOf([given], { memory: memory({ ownOperationIds: ["op-1"] }) })).toBe("SpecChange");
  });

  it("stored as ours before a restart → SpecChange", () => {
    const shown = { id: "op-1", action: "apply_config", status: "running", cause: "SpecChange" } as const;
    const times = { createdTime: timeAt(-9), updatedTime: timeAt(-9) };
    expect(causeOf([operation({ action: "apply_config" })], { status: { operations: [{ ...shown, ...times }] } })).toBe(
      "SpecChange",
    );
  });

  it("a suspend beside somebody's change of the same moment → Other", () => {
    const suspend = operation({ id: "op-2", action: "suspend_compute" });
    expect(causeOf([suspend, operation({ id: "op-1", action: "apply_config" })])).toBe("Other");
  });

  describe("the first start beside the creation of an endpoint we made", () => {
    const start = operation({ createdTime: timeAt(-3_600_000 + 1_500) });

    it("no answer named it → SpecChange: the answer to our create was lost", () => {
      expect(causeOf([start])).toBe("SpecChange");
    });

    it("of an adopted endpoint → ControlPlane", () => {
      expect(causeOf([start], { status: { ownership: ownership({ origin: "Adopted" }) } })).toBe("ControlPlane");
    });

    it("a second start right after it → ControlPlane", () => {
      const second = operation({ id: "op-2", createdTime: timeAt(-3_600_000 + 1_900) });
      expect(causeOf([second, start])).toBe("ControlPlane");
    });

    it("a start long after it → ControlPlane", () => {
      expect(causeOf([operation({ createdTime: timeAt(-3_600_000 + 2_001) })])).toBe("ControlPlane");
    });
  });
});
