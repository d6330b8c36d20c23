import { describe, expect, it } from "vitest";
import type { Operation } from "../../../src/domain/operation.ts";
import { planReconcile } from "../../../src/plan/plan-reconcile.ts";
import { statusFor } from "../../../src/plan/status-for.ts";
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import { operation, owned, policy } from "./builders.ts";

/** The status after a pass over an endpoint of ours in this state, whose own start stands like this. */
function statusAfter(
  state: string,
  start: Partial<Operation>,
  status: ComputeEndpointStatus = {},
): ComputeEndpointStatus {
  const observation = owned(
    {},
    {
      status,
      endpoint: { state, lastActiveTime: undefined },
      operations: [operation({ id: "op-start", ...start })],
      memory: { ...owned().memory, ownOperationIds: ["op-start"] },
    },
  );
  const plan = planReconcile(observation, policy);
  return statusFor({ local: observation, observation, plan, outcome: { kind: "Done" } }).status;
}

describe("the state while our own operation runs", () => {
  const running = statusAfter("init", { status: "running" });

  it("is newer than the word of its end → nothing is written yet", () => {
    expect(running.state).toBe("init");
    expect(statusAfter("active", { status: "running" }, running)).toEqual(running);
  });

  it("the operation has ended → both are written together", () => {
    const done = statusAfter("active", { status: "finished" }, running);
    expect(done).toMatchObject({ state: "active", operations: [{ id: "op-start", status: "finished" }] });
  });

  it("something else is to be written as well → the state goes along", () => {
    expect(statusAfter("active", { status: "running", failuresCount: 1 }, running).state).toBe("active");
  });

  it("nothing of ours runs → a new state is news", () => {
    const settled = statusAfter("active", { status: "finished" }, running);
    expect(statusAfter("idle", { status: "finished" }, settled).state).toBe("idle");
  });
});
