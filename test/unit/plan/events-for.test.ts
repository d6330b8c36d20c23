import { describe, expect, it } from "vitest";
import { eventsBefore, eventsFor, releaseEvents } from "../../../src/plan/events-for.ts";
import type { Outcome } from "../../../src/plan/outcome.ts";
import type { Plan } from "../../../src/plan/plan.ts";
import { planReconcile } from "../../../src/plan/plan-reconcile.ts";
import { statusFor } from "../../../src/plan/status-for.ts";
import type { ComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import {
  condition,
  creating,
  endpoint,
  failed,
  intent,
  observation,
  operation,
  owned,
  ownership,
  ownName,
  policy,
  resource,
} from "./builders.ts";

type Given = ReturnType<typeof observation>;

/** Reasons of the events of one pass. */
function reasons(given: Given, change: { readonly plan?: Plan; readonly outcome?: Outcome } = {}): readonly string[] {
  const plan = change.plan ?? planReconcile(given, policy);
  const pass = { local: given, observation: given, plan, outcome: change.outcome ?? ({ kind: "Done" } as const) };
  return eventsFor(pass, statusFor(pass).status).map(({ reason }) => reason);
}

/** The same observation once the status of the pass is stored. */
function afterPass(given: Given): Given {
  const plan = planReconcile(given, policy);
  const { status } = statusFor({ local: given, observation: given, plan, outcome: { kind: "Done" } });
  const self: ComputeEndpoint = { ...given.resource, status };
  return { ...given, resource: self };
}

describe("transitions", () => {
  const failing = { operations: [operation({ id: "op-f", status: "failed", failuresCount: 1, error: "no room" })] };
  const cases: readonly (readonly [string, Given, readonly string[]])[] = [
    ["becomes Ready", owned(), ["EndpointReady"]],
    ["an operation failed", owned({}, failing), ["OperationFailed", "EndpointReady"]],
    ["stalls", observation({ endpoints: [endpoint()] }), ["EndpointExists"]],
    ["a create found by its token", creating({}, { endpoints: [endpoint({ name: ownName })] }), ["EndpointCreated"]],
    [
      "a create presumed",
      creating({}, { endpoints: [endpoint({ createdTime: intent().time })] }),
      ["EndpointPresumed"],
    ],
    [
      "adopts",
      observation({ resource: resource({ spec: { adoption: { policy: "AdoptOnly" } } }), endpoints: [endpoint()] }),
      ["EndpointAdopted"],
    ],
    ["endpoint gone by another hand", owned({}, { endpoints: [] }), ["EndpointGone"]],
  ];
  it.each(cases)("%s → is told of", (_name, given, want) => {
    expect(reasons(given)).toEqual(want);
  });

  it.each(cases.filter(([name]) => !/gone|create|adopts/.test(name)))(
    "%s, looked at once more → no event",
    (_name, given) => {
      expect(reasons(afterPass(given))).toEqual([]);
    },
  );

  it("an operation failed → the note names it and its error", () => {
    const given = owned({}, failing);
    const pass = {
      local: given,
      observation: given,
      plan: planReconcile(given, policy),
      outcome: { kind: "Done" } as const,
    };
    const [event] = eventsFor(pass, statusFor(pass).status);
    expect(event).toMatchObject({ type: "Warning", note: "Operation start_compute (op-f) failed: no room" });
  });

  it("a field left spec → says that the service keeps its value", () => {
    const acknowledged = {
      generation: 1,
      hash: "h",
      fields: ["disabled"],
      attempts: 1,
      unmatchedAttempts: 0,
      time: "2026-11-21T11:00:00Z",
    };
    expect(reasons(owned({}, { status: { acknowledged } }))).toContain("FieldReleased");
  });

  it("a second endpoint with our token → told once it is deleted, not when that is put off or fails", () => {
    const given = owned({}, { endpoints: [endpoint({ name: ownName }), endpoint({ id: "ep-twin-2", name: ownName })] });
    expect(reasons(given, { outcome: { kind: "Accepted", mutation: undefined } })).toContain("DuplicateDeleted");
    expect(
      reasons(given, { outcome: { kind: "Deferred", waitedMs: 9_000, stillMs: 9_000, isFirst: false } }),
    ).not.toContain("DuplicateDeleted");
    expect(reasons(given, { outcome: failed("Rejected") })).not.toContain("DuplicateDeleted");
  });

  it("a long error → the note stays within what the API takes", () => {
    const given = owned({}, { operations: [operation({ id: "op".repeat(2_000), status: "failed" })] });
    const pass = {
      local: given,
      observation: given,
      plan: planReconcile(given, policy),
      outcome: { kind: "Done" } as const,
    };
    expect(eventsFor(pass, statusFor(pass).status)[0]?.note.length).toBeLessThanOrEqual(1_024);
  });

  it("the key is refused → told once", () => {
    const given = owned();
    const pass = { local: given, observation: undefined, plan: undefined, outcome: failed("Unauthorized") };
    const { status } = statusFor(pass);
    expect(eventsFor(pass, status).map(({ reason }) => reason)).toEqual(["CredentialsRejected"]);
    const local = { ...given, resource: { ...given.resource, status } };
    expect(eventsFor({ ...pass, local }, statusFor({ ...pass, local }).status)).toEqual([]);
  });
});

describe("a settled resource", () => {
  it("whatever pass → no event", () => {
    const settled = afterPass(owned());
    expect(reasons(settled)).toEqual([]);
    expect(reasons({ ...settled, nowMs: settled.nowMs + 9_000_000 })).toEqual([]);
  });

  it("423 → no event", () => {
    const ready = owned(
      { disabled: true },
      { status: { conditions: [condition({ type: "Ready", status: "True" })], ownership: ownership() } },
    );
    expect(reasons(ready, { outcome: failed("Locked") })).toEqual([]);
  });
});

describe("before and after", () => {
  it.each([
    [true, [["EndpointRestarting", true]]],
    [false, []],
  ] as const)("an update that restarts: %s → %o beforehand", (restarts, want) => {
    const plan: Plan = { kind: "UpdateEndpoint", endpointId: "ep-own-1", changes: {}, hash: "h", restarts };
    expect(eventsBefore(plan).map(({ reason, isAhead }) => [reason, isAhead])).toEqual(want);
  });

  it.each([
    ["Gone", ["EndpointDeleted"]],
    ["Retained", ["EndpointRetained"]],
    ["NeverCreated", []],
  ] as const)("released because %s → %o", (cause, want) => {
    expect(releaseEvents({ kind: "RemoveFinalizer", cause, abandoned: undefined }).map(({ reason }) => reason)).toEqual(
      want,
    );
  });

  it("released with an open create → a warning with token and candidates", () => {
    const [event] = releaseEvents({
      kind: "RemoveFinalizer",
      cause: "Retained",
      abandoned: intent({ suspectIds: ["ep-x-9"] }),
    });
    expect(event).toMatchObject({ type: "Warning", reason: "CreateAbandoned" });
    expect(event?.note).toContain(intent().token);
    expect(event?.note).toContain("ep-x-9");
  });
});
