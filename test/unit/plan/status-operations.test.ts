import { expect, test } from "vitest";
import type { Operation } from "../../../src/domain/operation.ts";
import { outcomeOf } from "../../../src/domain/operation.ts";
import { statusOperations } from "../../../src/plan/status-operations.ts";
import { operation, timeAt } from "./builders.ts";

function shownActions(operations: readonly Operation[]): readonly string[] {
  const attributed = operations.map((each) => ({
    operation: each,
    cause: "SpecChange" as const,
    outcome: outcomeOf(each),
  }));
  return statusOperations(attributed, []).map(({ action }) => action);
}

/** A restart by one request: its operations share their time of creation. */
function restart(...statuses: readonly [string, string, string]): readonly Operation[] {
  const actions = ["start_compute", "apply_config", "suspend_compute"] as const;
  return actions.map((action, index) =>
    operation({
      id: `op-${action}`,
      action,
      status: statuses[index] ?? "",
      createdTime: timeAt(-9_000),
      updatedTime: timeAt({ apply_config: -6_000, suspend_compute: -3_000, start_compute: -1_000 }[action]),
    }),
  );
}

test("one of a request's operations runs, others wait → the running one comes first", () => {
  expect(shownActions(restart("scheduling", "finished", "running"))).toEqual([
    "suspend_compute",
    "start_compute",
    "apply_config",
  ]);
});

test("all of a request's operations have ended → the one that ended last comes first", () => {
  expect(shownActions(restart("finished", "finished", "finished"))).toEqual([
    "start_compute",
    "suspend_compute",
    "apply_config",
  ]);
});

test("operations of several requests → in flight first, then the most recent request", () => {
  const older = operation({ id: "op-old", action: "check_branch", updatedTime: timeAt(0) });
  const running = operation({ id: "op-run", action: "reload", status: "running", createdTime: timeAt(-100_000) });
  expect(shownActions([...restart("finished", "finished", "finished"), running, older])).toEqual([
    "reload",
    "start_compute",
    "suspend_compute",
    "apply_config",
    "check_branch",
  ]);
});
