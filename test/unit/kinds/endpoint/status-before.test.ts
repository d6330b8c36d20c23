/** Tests the status that is stored before a create or a DELETE is sent. */
import { expect, test } from "vitest";
import { ControlPlaneError } from "../../../../src/domain/control-plane-error.ts";
import { planOf } from "../../../../src/kinds/endpoint/decide.ts";
import { statusBefore } from "../../../../src/kinds/endpoint/status-for.ts";
import { condition, memory, monotonicMs, owned } from "./builders.ts";

const error = new ControlPlaneError("Unavailable", "cannot do it: 503", { effect: "NotApplied", subject: undefined });

/** Returns the conditions before a DELETE whose resource has a failed change of this generation in memory. */
function conditionsBeforeDelete(failedGeneration: number) {
  const given = owned(
    {},
    {
      resource: { isDeleting: true, generation: 2 },
      status: { conditions: [condition({ type: "Ready", status: "True" })] },
      memory: memory({
        failure: {
          error,
          generation: failedGeneration,
          sinceMs: monotonicMs - 1_000,
          count: 1,
          retryAtMs: monotonicMs,
        },
      }),
    },
  );
  const plan = planOf(given);
  expect(plan.kind).toBe("DeleteEndpoint");
  const { conditions = [] } = statusBefore({
    local: given,
    observation: given,
    plan,
    outcome: { kind: "NothingSent" },
  });
  return conditions.map(({ type, status }) => `${type} ${status}`);
}

// After a crash, these conditions alone say that a DELETE may still take effect. `Retain` then has to wait.
test("an update failed, then the resource is deleted → the conditions say that a DELETE may have been sent", () => {
  expect(conditionsBeforeDelete(1)).toContain("Reconciling True");
});

test("a DELETE failed and is tried again → the conditions stay, so nothing is written", () => {
  expect(conditionsBeforeDelete(2)).toEqual(["Ready True"]);
});
