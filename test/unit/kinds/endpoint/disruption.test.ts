/** Tests when a change that drops connections is sent, and what status says while it waits. */
import { describe, expect, it, test } from "vitest";
import { ControlPlaneError } from "../../../../src/domain/control-plane-error.ts";
import { eventsFor } from "../../../../src/kinds/endpoint/events-for.ts";
import type { EndpointOutcome, Observation, Plan } from "../../../../src/kinds/endpoint/plan.ts";
import { statusFor } from "../../../../src/kinds/endpoint/status-for.ts";
import { acknowledgedIn } from "../../../../src/resource/bookkeeping.ts";
import { conditionOf } from "../../../../src/resource/conditions.ts";
import { annotations } from "../../../../src/resource/names.ts";
import { type ComputeEndpointSpec, specSchema } from "../../../../src/resource/spec-schema.ts";
import type { ComputeEndpointStatus } from "../../../../src/resource/status-schema.ts";
import { checkConditions } from "../../../support/check-conditions.ts";
import {
  acknowledged,
  branch,
  endpoint,
  nowMs,
  observation,
  operation,
  otherBranch,
  owned,
  ownership,
  planFor,
  resource,
  spec,
  stepOf,
  timeAt,
} from "./builders.ts";

type Disruption = ComputeEndpointSpec["disruption"];
type Change = NonNullable<Parameters<typeof owned>[1]>;

const [small, wanted, office] = [
  { minUnits: 0.25, maxUnits: 2 },
  { minUnits: 1, maxUnits: 4 },
  { minUnits: 2, maxUnits: 2 },
];
const hash = "0123456789abcdef";

/** A resource whose size waits. */
function waiting(disruption: Disruption, status: ComputeEndpointStatus = {}, change: Change = {}) {
  const bookkeeping = acknowledged(spec({ compute: small, disruption }));
  const { endpoint: shown, ...others } = change;
  return owned(
    { compute: wanted, disruption },
    {
      status: { bookkeeping, ...status },
      endpoint: { ...small, state: "active", suspendTimeoutSeconds: 300, ...shown },
      ...others,
    },
  );
}

function withSpec(given: Observation, change: Partial<ComputeEndpointSpec>): Observation {
  const { resource: before } = given;
  const own = before.spec.kind === "Valid" ? before.spec.spec : spec();
  return { ...given, resource: { ...before, spec: { kind: "Valid", spec: { ...own, ...change } } } };
}

function statusAfter(given: Observation, plan: Plan, outcome: EndpointOutcome): ComputeEndpointStatus {
  return statusFor(stepOf(given, outcome, plan), { state: {}, mustStore: false, ended: [], ownInFlight: [] });
}

const window = (schedule: string, durationSeconds: number) => [{ schedule, durationSeconds, timeZone: "UTC" }];
const inWindow = (schedule: string, durationSeconds = 900) =>
  ({ when: "InWindow", windows: window(schedule, durationSeconds) }) as const;
const whenIdle = { when: "WhenIdle" } as const;
const closed = inWindow("0 3 * * *");
const opened = inWindow("0 11 * * *", 7_200);
const required = { approval: "Required" } as const;
const idle = { endpoint: { state: "idle" } };
const since = (offsetMs: number) => {
  const fields = [{ field: "spec.compute", actual: "0.25-2", desired: "1-4" }];
  return { pendingChange: { fields, hash, sinceTime: timeAt(offsetMs) } };
};
const approvedBy = (value: string) => ({ resource: { annotations: { [annotations.approveChange]: value } } });
const isBusy = { operations: { shown: [operation({ status: "running" })] } };
const starting = { endpoint: { state: "idle", pendingState: "active" } };
const scheduled = (schedule: string) => ({
  schedules: [{ name: "office", schedule, durationSeconds: 5 * 3_600, compute: office }],
});
const atOffice = { endpoint: office };

/** Saturday noon is now. */
describe("a change that drops connections", () => {
  it.each<[string, string, Observation]>([
    ["no policy", "Sent", waiting(undefined)],
    ["at once", "Sent", waiting({ when: "Immediately" })],
    ["when idle, active", "WaitingForIdle", waiting(whenIdle)],
    ["when idle, idle", "Sent", waiting(whenIdle, {}, idle)],
    ["when idle, idle and about to start", "WaitingForIdle", waiting(whenIdle, {}, starting)],
    ["when idle, idle with an operation", "WaitingForIdle", waiting(whenIdle, {}, { ...idle, ...isBusy })],
    ["when idle, an unknown state", "WaitingForIdle", waiting(whenIdle, {}, { endpoint: { state: "dozing" } })],
    ["when idle, and the window of another policy is open", "WaitingForIdle", waiting({ ...opened, ...whenIdle })],
    ["a window is open", "Sent", waiting(opened)],
    ["a window has just closed", "WaitingForWindow", waiting(inWindow("45 11 * * *"))],
    ["no window is open", "WaitingForWindow", waiting(closed)],
    ["no window is open, but the compute is idle", "Sent", waiting(closed, {}, idle)],
    ["a forced end that has come", "Sent", waiting({ ...closed, forceAfterSeconds: 60 }, since(-61_000))],
    ["a forced end to come", "WaitingForWindow", waiting({ ...closed, forceAfterSeconds: 60 }, since(-59_000))],
    ["an approval is missing", "WaitingForApproval", waiting(required, since(-1_000))],
    [
      "a forced end is no approval",
      "WaitingForApproval",
      waiting({ ...required, forceAfterSeconds: 60 }, since(-61_000)),
    ],
    ["an approval of another change", "WaitingForApproval", waiting(required, since(-1_000), approvedBy("another"))],
    ["an approval", "Sent", waiting(required, since(-1_000), approvedBy(hash))],
    [
      "an approval that was used up",
      "WaitingForApproval",
      waiting(required, { ...since(-1_000), lastHandledApproval: hash }, approvedBy(hash)),
    ],
    [
      "an approval outside of the window",
      "WaitingForWindow",
      waiting({ ...closed, ...required }, since(-1_000), approvedBy(hash)),
    ],
    ["an idle compute needs no approval", "Sent", waiting(required, {}, idle)],
    ["a schedule begins: no approval", "Sent", withSpec(waiting(required), scheduled("0 8 * * *"))],
    ["a schedule has ended: no approval", "Sent", withSpec(waiting(required, {}, atOffice), scheduled("0 6 * * *"))],
    ["a schedule begins outside of the window", "WaitingForWindow", withSpec(waiting(closed), scheduled("0 8 * * *"))],
  ])("%s → %s", (_, want, given) => {
    const other = withSpec(given, { suspend: { mode: "After", afterSeconds: 60 } });
    for (const each of [given, other]) {
      const plan = planFor(each);
      const changes = plan.kind === "UpdateEndpoint" ? plan.changes : {};
      expect("minUnits" in changes).toBe(want === "Sent");
      expect("suspendTimeoutSeconds" in changes, "another field does not wait").toBe(each === other);
    }
    expectWait(given, want, "True");
  });

  it.each<[string, string, Disruption, Change]>([
    ["no policy", "Sent", undefined, {}],
    ["when idle, active", "WaitingForIdle", whenIdle, {}],
    ["when idle, idle", "Sent", whenIdle, idle],
    ["no window is open, and the compute is idle", "WaitingForWindow", closed, idle],
    ["an approval is missing, and the compute is idle", "WaitingForApproval", required, idle],
  ])("a move: %s → %s", (_, want, disruption, change) => {
    const given = withSpec(waiting(disruption, {}, { endpoint: { ...wanted, ...change.endpoint } }), {
      branchId: otherBranch,
    });
    expect(planFor(given).kind === "MoveEndpoint").toBe(want === "Sent");
    expectWait(given, want, "False");
  });

  /** Status says what waits, and the next reconcile decides the same. */
  function expectWait(given: Observation, reason: string, ready: string): void {
    if (reason === "Sent") return;
    const plan = planFor(given);
    const status = statusAfter(given, plan, { kind: "NothingSent" });
    const { conditions, pendingChange } = status;
    expect(conditionOf(conditions, "Ready")).toMatchObject({ status: ready, reason: "ChangePending" });
    expect(conditionOf(conditions, "InSync")).toMatchObject({ status: "False", reason: "ChangePending" });
    const command = `=${pendingChange?.hash}.`;
    const pending = conditionOf(conditions, "ChangePending");
    expect(pending?.reason).toBe(reason);
    expect(pending?.message.includes(command)).toBe(reason === "WaitingForApproval");
    expect(status.drift).toMatchObject(pendingChange?.fields ?? [{}]);
    expect(checkConditions(status, given.resource.generation)).toEqual([]);
    const again = planFor({ ...given, resource: { ...given.resource, status } });
    expect(again).toMatchObject({ kind: "Settled", ruling: { change: { hash: pendingChange?.hash } } });
  }
});

function step(given: Observation) {
  const plan = planFor(given);
  const status = statusAfter(given, plan, { kind: "NothingSent" });
  const events = eventsFor(stepOf(given, { kind: "NothingSent" }, plan), status);
  return { plan, status, events: events.filter(({ reason }) => reason !== "EndpointReady") };
}

describe("a wait", () => {
  it("a schedule begins beside a move that waits → the move keeps its hash, and so its begin", () => {
    const schedules = [{ name: "office", schedule: "0 13 * * *", durationSeconds: 3_600, compute: office }];
    const own = spec({ branchId: otherBranch, compute: wanted, schedules, disruption: { approval: "Required" } });
    const of = (given: ComputeEndpointStatus, atMs: number) => {
      const held = resource({ spec: own, status: { ownership: ownership(), ...given } });
      return step({ ...waiting({}), nowMs: atMs, resource: held }).status;
    };
    const before = of({}, nowMs);
    expect(of(before, nowMs + 3_600_000).pendingChange?.hash).toBe(before.pendingChange?.hash);
  });

  it("only the size differs, and waits → the attempts begin anew", () => {
    const bookkeeping = acknowledged(spec({ compute: wanted }), { unmatchedAttempts: 2 });
    const { status } = step(waiting(whenIdle, { bookkeeping }));
    expect(acknowledgedIn(status)?.unmatchedAttempts).toBe(0);
  });

  it("another desired value → begins anew, with another hash; the same value → keeps both", () => {
    const first = step(waiting(whenIdle)).status;
    const later = step(waiting(whenIdle, first, { nowMs: nowMs + 3_600_000 })).status;
    expect(later.pendingChange).toEqual(first.pendingChange);
    const fields = [{ field: "spec.compute", actual: "0.25-2", desired: "8" }];
    const pendingChange = { hash, sinceTime: timeAt(0), fields };
    const edited = step(waiting(whenIdle, { pendingChange }, { nowMs: nowMs + 3_600_000 })).status.pendingChange;
    expect(edited?.hash).not.toBe(hash);
    expect(Date.parse(edited?.sinceTime ?? "")).toBe(nowMs + 3_600_000);
  });

  it("its begin → one event; the next reconcile → none; its end → one event", () => {
    const begin = step(waiting(whenIdle));
    expect(begin.events).toMatchObject([{ type: "Normal", reason: "ChangeHeld" }]);
    expect(step(waiting(whenIdle, begin.status)).events).toEqual([]);
    const given = waiting({}, begin.status);
    const answer = { endpoint: endpoint({ ...wanted, state: "active" }), operations: [operation()] };
    const sent = stepOf(given, { kind: "Accepted", answer });
    const after = statusAfter(given, planFor(given), { kind: "Accepted", answer });
    expect(eventsFor(sent, after)).toMatchObject([{ reason: "ChangeSent" }]);
  });

  it("suspend mode Never without force → a Warning, and the message says it; with force → none", () => {
    const never = (disruption: Disruption) =>
      step(waiting(disruption, {}, { endpoint: { suspendTimeoutSeconds: -1 } })).events;
    const [event] = never(whenIdle);
    expect(event).toMatchObject({ type: "Warning", reason: "CannotBecomeIdle" });
    expect(event?.note).toContain("never idle by itself");
    expect(never({ ...whenIdle, forceAfterSeconds: 60 })).toMatchObject([{ type: "Normal", reason: "ChangeHeld" }]);
  });

  it("nextTime → the next window or the forced end, whichever is earlier; absent if only an approval is missing", () => {
    const nextOf = (disruption: Disruption) => step(waiting(disruption)).status.pendingChange?.nextTime;
    expect(nextOf(closed)).toBe("2026-11-22T03:00:00Z");
    expect(nextOf({ ...closed, forceAfterSeconds: 60 })).toBe("2026-11-21T12:01:00Z");
    expect(nextOf(whenIdle)).toBeUndefined();
    expect(nextOf({ ...whenIdle, forceAfterSeconds: 3600 })).toBe("2026-11-21T13:00:00Z");
    expect(nextOf({ ...required, forceAfterSeconds: 60 })).toBeUndefined();
    expect(nextOf({ ...inWindow("55 11 * * *"), ...required })).toBeUndefined();
  });

  it("a window that closes without the change → WindowMissed, once; an approval that is missing → none", () => {
    const disruption = inWindow("0 13 * * *");
    const closedMs = nowMs + 2 * 3_600_000;
    const before = step(waiting(disruption)).status;
    const after = step(waiting(disruption, before, { nowMs: closedMs }));
    expect(after.events).toMatchObject([{ type: "Warning", reason: "WindowMissed" }]);
    expect(step(waiting(disruption, after.status, { nowMs: closedMs + 60_000 })).events).toEqual([]);
    const open = waiting(disruption, before, { nowMs: nowMs + 3_660_000 });
    const error = new ControlPlaneError("Locked", "locked", { effect: "NotApplied" });
    const refused = statusAfter(open, planFor(open), { kind: "Failed", error, forMs: 0, lockHolder: undefined });
    expect(planFor(open).kind).toBe("UpdateEndpoint");
    expect(step(waiting(disruption, refused, { nowMs: closedMs })).events).toContainEqual(
      expect.objectContaining({ type: "Warning", reason: "WindowMissed" }),
    );
    const unapproved = step(waiting({ ...disruption, ...required })).status;
    expect(step(waiting({ ...disruption, ...required }, unapproved, { nowMs: closedMs })).events).toEqual([]);
  });

  it("a timer → at the next window, or when the forced end comes", () => {
    expect(planFor(waiting(inWindow("0 13 * * *")))).toMatchObject({ kind: "Settled", dueInMs: 3_600_000 });
    expect(planFor(waiting({ ...whenIdle, forceAfterSeconds: 60 }))).toMatchObject({ dueInMs: 60_000 });
  });

  it("a list that may be out of date → a known wait needs no read by id; after a suspend, or a new wait, it does", () => {
    const known = step(waiting(whenIdle)).status;
    const listed = (status: ComputeEndpointStatus, isSuspended = false) => {
      const given = waiting(whenIdle, { ...status, observedGeneration: 1 });
      const snapshot = { ...given.snapshot, readsById: new Set<string>() };
      return planFor({ ...given, snapshot, operations: { ...given.operations, isSuspended } }).kind;
    };
    expect([listed(known), listed(known, true), listed({})]).toEqual(["Settled", "Look", "Look"]);
  });

  it("move and size approved together → the move first; the size keeps hash and approval, and uses it up", () => {
    const own = spec({ branchId: otherBranch, compute: wanted, disruption: { approval: "Required" } });
    const of = (status: ComputeEndpointStatus, branchId: string, approved?: string) =>
      observation({
        resource: resource({
          spec: own,
          annotations: approved === undefined ? {} : { [annotations.approveChange]: approved },
          status: { ownership: ownership(), ...status },
        }),
        endpoints: [endpoint({ ...small, state: "active", branchId })],
      });
    const pending = step(of({}, branch)).status;
    const { hash: approved = "" } = pending.pendingChange ?? {};
    const moving = of(pending, branch, approved);
    const plan = planFor(moving);
    expect(plan.kind).toBe("MoveEndpoint");
    const answer = { endpoint: endpoint({ ...small, state: "active", branchId: otherBranch }), operations: [] };
    const moved = statusAfter(moving, plan, { kind: "Accepted", answer });
    expect(moved.lastHandledApproval).toBeUndefined();
    const resizing = of(moved, otherBranch, approved);
    const resize = planFor(resizing);
    expect(resize).toMatchObject({ kind: "UpdateEndpoint", changes: wanted });
    const done = { endpoint: endpoint({ ...wanted, state: "active", branchId: otherBranch }), operations: [] };
    const end = statusAfter(resizing, resize, { kind: "Accepted", answer: done });
    expect(end).toMatchObject({ lastHandledApproval: approved });
    expect(end.pendingChange).toBeUndefined();
  });
});

test("a value that was accepted and differs → the plan is a correction", () => {
  const given = owned({ compute: wanted }, { endpoint: { ...small, state: "active" } });
  expect(planFor(given)).toMatchObject({ kind: "UpdateEndpoint", isCorrection: true });
});

/** What only the operator can refuse. All else is in the admission test. */
it.each(["61 3 * * *", "0 3 30 2 *", "0 3 * * 8"])("a window at %s → refused, because it never begins", (schedule) => {
  const disruption = { windows: [{ schedule, durationSeconds: 900 }] };
  expect(specSchema.safeParse(spec({ disruption })).error?.message).toContain("begins at some time");
});
