import { describe, expect, it } from "vitest";
import type { Operation } from "../../../src/domain/operation.ts";
import { planReconcile } from "../../../src/plan/plan-reconcile.ts";
import { annotations } from "../../../src/resource/names.ts";
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import { checkConditions } from "../../support/check-conditions.ts";
import { operation, owned, policy, timeAt } from "./builders.ts";
import { statusAfter } from "./check-plan.ts";

interface Look {
  readonly operations: readonly Operation[];
  readonly acknowledge?: string;
}

/** What status remembers after looks at the log, one after the other. */
function rememberedAfter(...looks: readonly Look[]): readonly string[] {
  let status: ComputeEndpointStatus = {};
  for (const { operations, acknowledge } of looks) {
    const given = owned(
      {},
      {
        operations,
        status,
        resource: acknowledge === undefined ? {} : { annotations: { [annotations.acknowledgeOperation]: acknowledge } },
      },
    );
    status = statusAfter(given, planReconcile(given, policy));
    expect(checkConditions(status, 1)).toEqual([]);
  }
  return (status.failedActions ?? []).map(({ operationId }) => operationId);
}

const start = (id: string, seconds: number, status: string, change: Partial<Operation> = {}) =>
  operation({ id, status, createdTime: timeAt(seconds * 1_000), ...change });

describe("LastOperationSucceeded remembers", () => {
  const broken = start("op-1", -500, "failed", { failuresCount: 1 });
  const config = start("op-2", -400, "error", { action: "apply_config", failuresCount: 1 });

  it("nothing failed → nothing", () => {
    expect(rememberedAfter({ operations: [start("op-1", -500, "finished")] })).toEqual([]);
  });

  it.each(["failed", "error", "cancelled"])("an operation ended %s → remembered", (status) => {
    expect(rememberedAfter({ operations: [start("op-1", -500, status)] })).toEqual(["op-1"]);
  });

  it.each(["finished", "skipped", "running", "levitating"])("an operation is %s → not remembered", (status) => {
    expect(rememberedAfter({ operations: [start("op-1", -500, status)] })).toEqual([]);
  });

  it("a clean read → does not clear it", () => {
    expect(rememberedAfter({ operations: [broken] }, { operations: [] }, { operations: [] })).toEqual(["op-1"]);
  });

  it("a later success of the same action → clears it", () => {
    expect(
      rememberedAfter({ operations: [broken] }, { operations: [start("op-3", -100, "finished"), broken] }),
    ).toEqual([]);
  });

  it("a success of another action → does not clear it", () => {
    const other = start("op-3", -100, "finished", { action: "suspend_compute" });
    expect(rememberedAfter({ operations: [broken] }, { operations: [other, broken] })).toEqual(["op-1"]);
  });

  it("an earlier success of the same action → does not clear it", () => {
    expect(rememberedAfter({ operations: [broken, start("op-0", -900, "finished")] })).toEqual(["op-1"]);
  });

  it("the service retries the same operation with success → clears it", () => {
    const retried = start("op-1", -500, "finished", { failuresCount: 1, updatedTime: timeAt(-1_000) });
    expect(rememberedAfter({ operations: [broken] }, { operations: [retried] })).toEqual([]);
  });

  it("the service retries the same operation with success in the same moment → clears it", () => {
    const retried = start("op-1", -500, "finished", { failuresCount: 1 });
    expect(rememberedAfter({ operations: [broken] }, { operations: [retried] })).toEqual([]);
  });

  it("two actions failed → both, and each can be acknowledged by itself", () => {
    const operations = [config, broken];
    expect(rememberedAfter({ operations })).toEqual(["op-2", "op-1"]);
    expect(rememberedAfter({ operations }, { operations, acknowledge: "op-1" })).toEqual(["op-2"]);
  });

  it("the other failure acknowledged next → the first does not come back", () => {
    const operations = [config, broken];
    const seen = rememberedAfter(
      { operations },
      { operations, acknowledge: "op-1" },
      { operations, acknowledge: "op-2" },
      { operations },
    );
    expect(seen).toEqual([]);
  });

  it("acknowledged, then pushed out of status by newer ones → does not come back", () => {
    const newer = Array.from({ length: 25 }, (_, index) =>
      start(`op-n${index}`, -90 + index, "finished", { action: "suspend_compute" }),
    );
    const operations = [...newer, broken];
    const seen = rememberedAfter(
      { operations: [broken] },
      { operations: [broken], acknowledge: "op-1" },
      { operations },
      { operations },
    );
    expect(seen).toEqual([]);
  });

  it("acknowledged, retried by the service and failed again → remembered", () => {
    const again = start("op-1", -500, "failed", { failuresCount: 2, updatedTime: timeAt(-1_000) });
    expect(
      rememberedAfter({ operations: [broken] }, { operations: [broken], acknowledge: "op-1" }, { operations: [again] }),
    ).toEqual(["op-1"]);
  });

  it("a failure that the list shows late, below newer ones → remembered", () => {
    const newer = start("op-9", -10, "finished", { action: "suspend_compute" });
    expect(rememberedAfter({ operations: [newer] }, { operations: [newer, broken] })).toEqual(["op-1"]);
  });

  it("the same action failed again → the newer one", () => {
    const second = start("op-3", -100, "failed", { failuresCount: 1 });
    expect(rememberedAfter({ operations: [broken] }, { operations: [second, broken] })).toEqual(["op-3"]);
  });

  it("a failure from before the endpoint was ours → is somebody else's history", () => {
    expect(rememberedAfter({ operations: [start("op-1", -4_000, "failed")] })).toEqual([]);
  });
});
