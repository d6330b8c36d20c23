/** Tests what `kubectl endpoints plan` says of a change that drops connections. */
import { expect, test } from "vitest";
import { planned } from "../../../src/plugin/plan.ts";
import { resource as resourceOf, spec } from "../kinds/endpoint/builders.ts";

const size = { field: "spec.compute", actual: "0.25-2", desired: "1-4" };
const change = { fields: [size], hash: "3f9a0c51d2b7e846", sinceTime: "2026-11-21T12:00:00Z" };
const message = `spec.compute (0.25-2 to 1-4) drops connections and waits for approval: kubectl annotate ${change.hash}.`;
const wait = { reason: "WaitingForApproval", message, isEndless: false } as const;
const ruling = { held: ["spec.compute"], change, wait };
const saying = (plan: Parameters<typeof planned>[0]["plan"], status = {}) =>
  planned({ resource: resourceOf({ spec: spec(), status }), plan, afterOperation: undefined, notes: [] });

test("a change that waits → what waits, the command that approves it, and exit code 3", () => {
  const { text, exitCode } = saying({ kind: "Settled", unverifiable: [], ruling }, { pendingChange: change });
  expect(text).toContain(message);
  expect(text).not.toContain("has not stored");
  expect(exitCode).toBe(3);
});

test("a change that waits only in a file → its hash is not known yet", () => {
  const { text } = saying({ kind: "Settled", unverifiable: [], ruling });
  expect(text).toContain("has not stored this wait yet");
});

test("another field goes first → the plan names what waits beside it", () => {
  const update = { kind: "UpdateEndpoint", endpointId: "ep-1", changes: { disabled: true }, hash: "h" } as const;
  const { text } = saying({ ...update, restarts: false, ruling }, { pendingChange: change });
  expect(text).toContain(message);
});

test.each([
  [{ kind: "UpdateEndpoint", endpointId: "ep-1", changes: { minUnits: 1, maxUnits: 1 }, hash: "h", restarts: true }],
  [{ kind: "MoveEndpoint", endpointId: "ep-1", branchId: "br-2" }],
] as const)("%o → names the drop of connections", (plan) => {
  expect(saying(plan).text).toContain("drops its connections");
});

test("nothing waits → exit code 0", () => {
  expect(saying({ kind: "Settled", unverifiable: [] }).exitCode).toBe(0);
});

test("the control plane refused the create → the plan says so beside the wait of a new operator", () => {
  const ready = { type: "Ready", status: "False", reason: "Retrying", message: "404: branch not found." };
  const conditions = [{ ...ready, observedGeneration: 1, lastTransitionTime: "2026-11-28T10:00:00Z" } as const];
  const lost = { kind: "Wait", reason: "CreateUnresolved", message: "The answer was lost.", waitMs: 1 } as const;
  expect(saying(lost, { conditions }).text).toContain("Status says Retrying: 404: branch not found.");
  expect(saying(lost).text).not.toContain("Status says");
});
