/** Tests that statuses share equal texts. */
import { describe, expect, it } from "vitest";
import { createTextPool } from "../../../../src/domain/text-pool.ts";
import { withSharedTexts } from "../../../../src/kubernetes/store/resource-kinds.ts";
import type { ComputeEndpointStatus } from "../../../../src/resource/status-schema.ts";
import { condition, operation, ownership, timeAt } from "../../decide/builders.ts";

describe("texts that many resources have in common", () => {
  it("a full status → says the same, and its words are held", () => {
    const { id, action, status: state, failuresCount, createdTime, updatedTime } = operation();
    const shown = { id, action, status: state, failuresCount, createdTime, updatedTime, cause: "SpecChange" } as const;
    const full: ComputeEndpointStatus = {
      observedGeneration: 1,
      ownership: ownership(),
      operations: [shown, { ...shown, id: "op-2", action: "suspend_compute", durationMilliseconds: 3, error: "no" }],
      conditions: [condition({ type: "Ready", status: "True", message: "All is well." })],
      lastActiveTime: timeAt(0),
    };
    const pool = createTextPool(100);
    expect(withSharedTexts(full, pool), "undefined members count as absent").toEqual(full);
    const { size } = pool;
    expect(size).toBeGreaterThanOrEqual(7);
    withSharedTexts(structuredClone(full), pool);
    expect(pool.size, "no new text").toBe(size);
  });

  it("an empty status → stays empty", () => {
    expect(withSharedTexts({}, createTextPool(1))).toStrictEqual({});
  });
});
