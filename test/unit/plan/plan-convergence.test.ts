import { describe, expect, it } from "vitest";
import type { Observation } from "../../../src/plan/observation.ts";
import { planReconcile } from "../../../src/plan/plan-reconcile.ts";
import type { ComputeEndpointSpec } from "../../../src/resource/spec-schema.ts";
import { acknowledged, operation, owned, ownership, policy, spec, timeAt } from "./builders.ts";
import { itPlans, type PlanCase, statusAfter } from "./check-plan.ts";

const size = { compute: { minUnits: 2, maxUnits: 4 } };
const ownRunning = operation({ id: "op-own", action: "apply_config", status: "running", createdTime: timeAt(-4_000) });
const shownAsOurs = {
  id: "op-own",
  action: "apply_config",
  status: "running",
  failuresCount: 0,
  cause: "SpecChange",
  createdTime: timeAt(-4_000),
  updatedTime: timeAt(-4_000),
} as const;

describe("managed fields", () => {
  const fields: readonly (readonly [string, Partial<ComputeEndpointSpec>, Record<string, unknown>])[] = [
    ["compute", size, { minUnits: 2, maxUnits: 4 }],
    ["suspend After", { suspend: { mode: "After", afterSeconds: 60 } }, { suspendTimeoutSeconds: 60 }],
    ["suspend Never", { suspend: { mode: "Never" } }, { suspendTimeoutSeconds: -1 }],
    ["suspend ServiceDefault", { suspend: { mode: "ServiceDefault" } }, { suspendTimeoutSeconds: 0 }],
    ["pooler.enabled", { pooler: { enabled: true } }, { poolerEnabled: true }],
    ["pooler.mode", { pooler: { mode: "Transaction" } }, { poolerMode: "transaction" }],
    ["settings.pgSettings", { settings: { pgSettings: { work_mem: "64MB" } } }, { pgSettings: { work_mem: "64MB" } }],
    ["disabled", { disabled: true }, { disabled: true }],
  ];
  itPlans(
    fields.flatMap(([field, managed, changes]): PlanCase[] => [
      {
        name: `${field} never sent and differs → sends just that`,
        why: "a field that is absent from spec is neither sent nor called drift",
        given: owned(managed, {
          status: { acknowledged: acknowledged(spec()) },
          endpoint: { suspendTimeoutSeconds: 7, poolerMode: "session" },
        }),
        want: { kind: "UpdateEndpoint", endpointId: "ep-own-1", changes },
      },
      {
        name: `${field} matches → settled`,
        why: "nothing differs",
        given: owned(managed, { endpoint: changes }),
        want: { kind: "Settled", unverifiable: [] },
      },
    ]),
  );

  it("two of three differ → one request with those two", () => {
    const plan = planReconcile(
      owned(
        { ...size, disabled: true, pooler: { enabled: true } },
        { status: { acknowledged: acknowledged(spec()) }, endpoint: { poolerEnabled: true } },
      ),
      policy,
    );
    expect(plan).toMatchObject({ changes: { minUnits: 2, maxUnits: 4, disabled: true } });
    expect(plan).not.toHaveProperty("changes.poolerEnabled");
  });

  itPlans([
    {
      name: "a setting of the service that is not in spec → is removed: the map is owned whole",
      why: "a PATCH replaces the map",
      given: owned(
        { settings: { pgSettings: { a: "1" } } },
        { status: { acknowledged: acknowledged(spec()) }, endpoint: { pgSettings: { a: "1", b: "2" } } },
      ),
      want: { kind: "UpdateEndpoint", changes: { pgSettings: { a: "1" } } },
    },
    {
      name: "settings in another order → settled",
      why: "a map has no order",
      given: owned({ settings: { pgSettings: { a: "1", b: "2" } } }, { endpoint: { pgSettings: { b: "2", a: "1" } } }),
      want: { kind: "Settled" },
    },
    {
      name: "a field left spec → settled, the service keeps its value",
      why: "absent is not managed",
      given: owned(
        {},
        { status: { acknowledged: acknowledged(spec({ disabled: true })) }, endpoint: { disabled: true } },
      ),
      want: { kind: "Settled" },
    },
    {
      name: "size differs, active → restarts the compute",
      why: "people must be told before their connections drop",
      given: owned(size, { status: { acknowledged: acknowledged(spec()) }, endpoint: { state: "active" } }),
      want: { kind: "UpdateEndpoint", restarts: true },
    },
    {
      name: "size differs, idle → restarts nothing",
      why: "there is no connection to drop",
      given: owned(size, { status: { acknowledged: acknowledged(spec()) } }),
      want: { kind: "UpdateEndpoint", restarts: false },
    },
    {
      name: "suspend differs, active → restarts nothing",
      why: "only a change of size restarts a compute",
      given: owned(
        { suspend: { mode: "Never" } },
        { status: { acknowledged: acknowledged(spec()) }, endpoint: { state: "active", suspendTimeoutSeconds: 300 } },
      ),
      want: { kind: "UpdateEndpoint", restarts: false },
    },
    {
      name: "a field the service does not echo, never sent → sends it",
      why: "only acceptance can be known",
      given: owned({ suspend: { mode: "Never" } }, { status: { acknowledged: acknowledged(spec()) } }),
      want: { kind: "UpdateEndpoint", changes: { suspendTimeoutSeconds: -1 } },
    },
    {
      name: "a field the service does not echo, acknowledged → settled, and said to be unverifiable",
      why: "acknowledged counts as matched",
      given: owned({ suspend: { mode: "Never" } }),
      want: { kind: "Settled", unverifiable: ["suspend"] },
    },
    {
      name: "just adopted, nothing acknowledged, all matches → settled",
      why: "there is nothing to send",
      given: owned(
        { disabled: false },
        { status: { ownership: ownership({ origin: "Adopted" }), acknowledged: undefined } },
      ),
      want: { kind: "Settled" },
    },
    {
      name: "just adopted, a field that is not echoed → sends it once",
      why: "nobody knows what the one before us had set",
      given: owned(
        { suspend: { mode: "Never" } },
        { status: { ownership: ownership({ origin: "Adopted" }), acknowledged: undefined } },
      ),
      want: { kind: "UpdateEndpoint", changes: { suspendTimeoutSeconds: -1 } },
    },
  ]);
});

describe("drift", () => {
  const drifted = (change: Parameters<typeof acknowledged>[1], more: Parameters<typeof owned>[1] = {}) =>
    owned(size, { ...more, status: { acknowledged: acknowledged(spec(size), change), ...more.status } });
  const failure = { action: "apply_config", operationId: "op-f", time: timeAt(-30_000) };
  itPlans([
    {
      name: "matched before, changed by another hand → sends again at once",
      why: "the first outside change is put right",
      given: drifted({}),
      want: { kind: "UpdateEndpoint", changes: { minUnits: 2, maxUnits: 4 } },
    },
    {
      name: "matched before, changed by another hand once more → waits, with growing delay",
      why: "two who disagree must not restart a database in turns",
      given: drifted({ attempts: 2, time: timeAt(-50_000) }),
      want: { kind: "Wait", reason: "Retrying", requeueAfterMs: 10_000 },
    },
    {
      name: "accepted once and never shown, just now → waits",
      why: "the second try comes with a delay",
      given: drifted({ unmatchedAttempts: 1, time: timeAt(-10_000) }),
      want: { kind: "Wait", reason: "Retrying", requeueAfterMs: 20_000 },
    },
    {
      name: "accepted once and never shown, half a minute ago → sends it a second time",
      why: "one retry",
      given: drifted({ unmatchedAttempts: 1, time: timeAt(-30_000) }),
      want: { kind: "UpdateEndpoint" },
    },
    {
      name: "accepted twice and never shown → Stalled DriftPersists",
      why: "no third restart of a database",
      given: drifted({ attempts: 2, unmatchedAttempts: 2, time: timeAt(-9_000_000) }),
      want: { kind: "Stall", reason: "DriftPersists", message: expect.stringContaining("spec.compute") },
    },
    {
      name: "accepted twice and never shown, an operation failed since → sends it again, later",
      why: "that explains it; the delay grows",
      given: drifted({ attempts: 2, unmatchedAttempts: 2 }, { status: { failedActions: [failure] } }),
      want: { kind: "UpdateEndpoint" },
    },
    {
      name: "accepted twice and never shown, an operation failed before → Stalled DriftPersists",
      why: "an old failure explains nothing",
      given: drifted(
        { attempts: 2, unmatchedAttempts: 2 },
        { status: { failedActions: [{ ...failure, time: timeAt(-61_000) }] } },
      ),
      want: { kind: "Stall", reason: "DriftPersists" },
    },
    {
      name: "differs while our own operation runs → waits for it",
      why: "the change is on its way",
      given: drifted({ unmatchedAttempts: 1 }, { operations: [ownRunning], status: { operations: [shownAsOurs] } }),
      want: { kind: "Wait", reason: "OperationInFlight" },
    },
    {
      name: "spec changed after DriftPersists → sends the new values at once",
      why: "after a spec that could not be reached a valid one converges",
      given: owned(
        { compute: { minUnits: 3, maxUnits: 3 } },
        { status: { acknowledged: acknowledged(spec(size), { attempts: 2, unmatchedAttempts: 2 }) } },
      ),
      want: { kind: "UpdateEndpoint", changes: { minUnits: 3, maxUnits: 3 } },
    },
    {
      name: "drift of one field beside one that is not echoed → sends the drifted one only",
      why: "what cannot be seen has not drifted",
      given: owned({ ...size, suspend: { mode: "Never" } }),
      want: { kind: "UpdateEndpoint", changes: { minUnits: 2, maxUnits: 4 } },
    },
  ]);
});

describe("what is remembered of what was sent", () => {
  const remembered = (given: Observation) => statusAfter(given, planReconcile(given, policy)).acknowledged;
  const unmatched = acknowledged(spec({ disabled: true }), { attempts: 2, unmatchedAttempts: 2 });

  it("shown by the service at last → the count of vain attempts begins anew, the delay does not", () => {
    const given = owned({ disabled: true }, { status: { acknowledged: unmatched }, endpoint: { disabled: true } });
    expect(remembered(given)).toEqual({ ...unmatched, unmatchedAttempts: 0 });
  });

  it("not shown yet → stays as it is", () => {
    expect(remembered(owned({ disabled: true }, { status: { acknowledged: unmatched } }))).toEqual(unmatched);
  });

  it("matches without ever being sent → is remembered as matched", () => {
    const given = owned({ disabled: false }, { status: { acknowledged: undefined } });
    expect(remembered(given)).toMatchObject({ fields: ["disabled"], attempts: 0, unmatchedAttempts: 0 });
  });

  it("the endpoint changes hands → nothing is remembered of the one before", () => {
    expect(remembered(owned({}, { endpoints: [] }))).toBeUndefined();
  });
});

describe("our own operation in flight", () => {
  itPlans([
    {
      name: "named by status → waits for it, and says which",
      why: "Ready means that none of our own operations is in flight",
      given: owned({}, { operations: [ownRunning], status: { operations: [shownAsOurs] } }),
      want: {
        kind: "Wait",
        reason: "OperationInFlight",
        message: "Waiting for apply_config to end.",
        requeueAfterMs: 2_000,
      },
    },
    {
      name: "the service's own operation → settled",
      why: "an auto-suspend or a check does not touch Ready",
      given: owned({}, { operations: [operation({ action: "suspend_compute", status: "running" })] }),
      want: { kind: "Settled" },
    },
    {
      name: "somebody else's operation → settled",
      why: "it is not ours to wait for",
      given: owned({}, { operations: [operation({ action: "apply_config", status: "running" })] }),
      want: { kind: "Settled" },
    },
    {
      name: "our own in a status nobody knows → settled",
      why: "what may have ended is never waited for",
      given: owned(
        {},
        {
          operations: [{ ...ownRunning, status: "levitating" }],
          status: { operations: [{ ...shownAsOurs, status: "levitating" }] },
        },
      ),
      want: { kind: "Settled" },
    },
  ]);
});
