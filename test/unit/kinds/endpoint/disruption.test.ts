/** Tests when a change that drops connections is sent: every combination of policy, state, window and cause. */
import { describe, expect, it, test } from "vitest";
import { ControlPlaneError } from "../../../../src/domain/control-plane-error.ts";
import { eventsFor } from "../../../../src/kinds/endpoint/events-for.ts";
import type { EndpointOutcome, Observation, Plan } from "../../../../src/kinds/endpoint/plan.ts";
import { statusFor } from "../../../../src/kinds/endpoint/status-for.ts";
import { acknowledgedIn } from "../../../../src/resource/bookkeeping.ts";
import { conditionOf } from "../../../../src/resource/conditions.ts";
import { annotations } from "../../../../src/resource/names.ts";
import { type ComputeEndpointSpec, specSchema } from "../../../../src/resource/spec-schema.ts";
import { type ComputeEndpointStatus, statusSchema } from "../../../../src/resource/status-schema.ts";
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
import { combinations } from "./product/factors.ts";

interface Case {
  readonly when: "Absent" | "Immediately" | "WhenIdle" | "InWindow";
  readonly approval: "NotRequired" | "Missing" | "Given" | "OfAnother" | "UsedUp";
  readonly state: "Active" | "Idle" | "Starting" | "Busy" | "Unknown";
  /** Saturday noon is now. */
  readonly window: "Open" | "Closed" | "JustClosed";
  readonly cause: "Edit" | "Drift" | "ScheduleBegins" | "ScheduleEnds" | "Adoption" | "Move";
  readonly isForced: boolean;
  /** Whether another field differs too. */
  readonly hasOther: boolean;
}

const levels = {
  when: ["Absent", "Immediately", "WhenIdle", "InWindow"],
  approval: ["NotRequired", "Missing", "Given", "OfAnother", "UsedUp"],
  state: ["Active", "Idle", "Starting", "Busy", "Unknown"],
  window: ["Open", "Closed", "JustClosed"],
  cause: ["Edit", "Drift", "ScheduleBegins", "ScheduleEnds", "Adoption", "Move"],
  isForced: [false, true],
  hasOther: [false, true],
} as const;

const [small, wanted, office] = [
  { minUnits: 0.25, maxUnits: 2 },
  { minUnits: 1, maxUnits: 4 },
  { minUnits: 2, maxUnits: 2 },
];
const windows = { Open: "0 11 * * *", Closed: "0 3 * * *", JustClosed: "45 11 * * *" };
const hash = "0123456789abcdef";

function specOf({ when, approval, window, cause, isForced, hasOther }: Case): ComputeEndpointSpec {
  const isScheduled = cause === "ScheduleBegins" || cause === "ScheduleEnds";
  const begins = cause === "ScheduleBegins" ? "0 8 * * *" : "0 6 * * *";
  const schedules = [{ name: "office", schedule: begins, durationSeconds: 5 * 3600, compute: office }];
  const durationSeconds = window === "JustClosed" ? 900 : 7200;
  return spec({
    compute: wanted,
    ...(hasOther && { suspend: { mode: "After", afterSeconds: 60 } }),
    ...(isScheduled && { schedules }),
    branchId: cause === "Move" ? otherBranch : branch,
    disruption: {
      ...(when !== "Absent" && { when }),
      windows: [{ schedule: windows[window], durationSeconds, timeZone: "UTC" }],
      ...(approval !== "NotRequired" && { approval: "Required" }),
      ...(isForced && { forceAfterSeconds: 60 }),
    },
  });
}

/** The field that waits, and its value. */
function changeOf({ cause }: Case) {
  const [from, to] = { ScheduleBegins: ["1-4", "2"], ScheduleEnds: ["2", "1-4"] }[cause as string] ?? ["0.25-2", "1-4"];
  return cause === "Move"
    ? { field: "spec.branchId", actual: branch, desired: otherBranch }
    : { field: "spec.compute", actual: from, desired: to };
}

function givenBy(of: Case): Observation {
  const { cause, state, approval, isForced, hasOther } = of;
  const own = specOf(of);
  const sizes = { ScheduleBegins: wanted, ScheduleEnds: office, Move: wanted }[cause as string] ?? small;
  const before = cause === "Edit" ? { ...own, compute: small } : own;
  const fields = [changeOf(of)];
  const sinceTime = timeAt(isForced ? -120_000 : -30_000);
  const isBegun = approval === "Given" || approval === "UsedUp" || isForced;
  const annotated = { Given: hash, UsedUp: hash, OfAnother: "another" }[approval as string];
  const states = { Active: "active", Idle: "idle", Starting: "idle", Busy: "idle", Unknown: "dozing" };
  const shown = hasOther ? { suspendTimeoutSeconds: 300 } : {};
  return observation({
    resource: resource({
      spec: own,
      generation: cause === "Edit" || cause === "Move" ? 2 : 1,
      annotations: annotated === undefined ? {} : { [annotations.approveChange]: annotated },
      status: {
        ownership: ownership({ origin: cause === "Adoption" ? "Adopted" : "Created" }),
        ...(cause !== "Adoption" && { bookkeeping: acknowledged(before) }),
        ...(isBegun && { pendingChange: { fields, hash, sinceTime } }),
        ...(approval === "UsedUp" && { lastHandledApproval: hash }),
      },
    }),
    endpoints: [
      endpoint({ ...sizes, ...shown, state: states[state], ...(state === "Starting" && { pendingState: "active" }) }),
    ],
    operations: { shown: state === "Busy" ? [operation({ status: "running" })] : [] },
  });
}

/** The rule of the documentation, in other words than the code. */
function mayBeSent({ when, approval, state, window, cause, isForced }: Case): boolean {
  const isScheduled = cause === "ScheduleBegins" || cause === "ScheduleEnds";
  const isApproved = approval === "NotRequired" || approval === "Given" || isScheduled;
  const isTimely =
    isForced ||
    (when === "WhenIdle" && state === "Idle") ||
    (when === "InWindow" && window === "Open") ||
    when === "Immediately" ||
    when === "Absent";
  const isHarmless = state === "Idle" && cause !== "Move";
  return isHarmless || (isApproved && isTimely);
}

function isSent(plan: Plan, { cause }: Case): boolean {
  return cause === "Move" ? plan.kind === "MoveEndpoint" : plan.kind === "UpdateEndpoint" && "minUnits" in plan.changes;
}

function statusAfter(given: Observation, plan: Plan, outcome: EndpointOutcome): ComputeEndpointStatus {
  return statusFor(stepOf(given, outcome, plan), { state: {}, mustStore: false, ended: [], ownInFlight: [] });
}

/** Returns what is wrong with the status while the change waits, in words. */
function problemsOfWait(of: Case, given: Observation): readonly string[] {
  const settled = { ...given, project: { ...given.project, endpoints: withOther(given, of) } };
  const plan = planFor(settled);
  const status = statusAfter(settled, plan, { kind: "NothingSent" });
  const reasonOf = (type: "Ready" | "ChangePending" | "InSync") => conditionOf(status.conditions, type);
  const isUnapproved = !["NotRequired", "Given"].includes(of.approval) && !of.cause.startsWith("Schedule");
  const reason = isUnapproved ? "WaitingForApproval" : of.when === "WhenIdle" ? "WaitingForIdle" : "WaitingForWindow";
  const again = planFor({ ...settled, resource: { ...settled.resource, status } });
  const checks: readonly (readonly [string, boolean])[] = [
    ["nothing else is planned", plan.kind === "Settled"],
    ["ChangePending", reasonOf("ChangePending")?.reason === reason],
    ["Ready", reasonOf("Ready")?.reason === "ChangePending"],
    ["Ready is False only for a move", (reasonOf("Ready")?.status === "False") === (of.cause === "Move")],
    ["InSync", reasonOf("InSync")?.status === "False" && reasonOf("InSync")?.reason === "ChangePending"],
    ["drift", status.drift?.[0]?.field === changeOf(of).field],
    ["pendingChange", status.pendingChange?.fields[0]?.desired === changeOf(of).desired],
    [
      "the command",
      !isUnapproved || reasonOf("ChangePending")?.message.includes(status.pendingChange?.hash ?? "-") === true,
    ],
    [
      "the same wait in the next reconcile",
      again.kind === "Settled" && again.ruling?.change?.hash === status.pendingChange?.hash,
    ],
    ["its schema", statusSchema.safeParse(status).success],
  ];
  const broken = checks.filter(([, holds]) => !holds).map(([name]) => name);
  return [...broken, ...checkConditions(status, given.resource.generation)];
}

/** The endpoint after the other field was sent. */
function withOther({ project }: Observation, { hasOther }: Case) {
  const entries = [...project.endpoints].map(
    ([id, each]) => [id, hasOther ? { ...each, suspendTimeoutSeconds: 60 } : each] as const,
  );
  return new Map(entries);
}

describe("every combination of policy, state, window and cause", () => {
  const all = [...combinations<Case>(levels)];
  const judged = all.map((of) => {
    const given = givenBy(of);
    return { of, given, plan: planFor(given) };
  });

  it("the table → is as large as its factors say, and each change is sent in some rows and waits in others", () => {
    expect(all).toHaveLength(4 * 5 * 5 * 3 * 6 * 2 * 2);
    for (const cause of levels.cause) {
      const sent = judged.filter(({ of }) => of.cause === cause).map(({ of, plan }) => isSent(plan, of));
      expect(new Set(sent), cause).toEqual(new Set([true, false]));
    }
  });

  it("a change that drops connections → is sent exactly if policy and approval permit it", () => {
    const wrong = judged.filter(({ of, plan }) => isSent(plan, of) !== mayBeSent(of));
    expect(wrong.slice(0, 3).map(({ of, plan }) => [of, plan])).toEqual([]);
  });

  it("a change that waits → another field is sent without it, and a waiting size never rides along", () => {
    const wrong = judged.filter(({ of, plan }) => {
      const isOtherSent = plan.kind === "UpdateEndpoint" && plan.changes.suspendTimeoutSeconds === 60;
      return !mayBeSent(of) && isOtherSent !== of.hasOther;
    });
    expect(wrong.slice(0, 3).map(({ of, plan }) => [of, plan])).toEqual([]);
  });

  it("a change that waits → conditions, drift and pendingChange say so and never contradict", () => {
    const wrong = judged
      .filter(({ of }) => !mayBeSent(of))
      .map(({ of, given }) => ({ of, problems: problemsOfWait(of, given) }))
      .filter(({ problems }) => problems.length > 0);
    expect(wrong.slice(0, 3)).toEqual([]);
  });

  it("a change that the control plane accepts → nothing waits any more, and the approval is used up", () => {
    const wrong = judged.filter(({ of, given, plan }) => {
      if (!isSent(plan, of)) return false;
      const shown = endpoint({
        ...wanted,
        ...("changes" in plan ? plan.changes : {}),
        branchId: specOf(of).branchId ?? "",
      });
      const status = statusAfter(given, plan, { kind: "Accepted", answer: { endpoint: shown, operations: [] } });
      const isUsed =
        status.lastHandledApproval === (of.approval === "Given" || of.approval === "UsedUp" ? hash : undefined);
      return status.pendingChange !== undefined || !isUsed;
    });
    expect(wrong.slice(0, 3).map(({ of, plan }) => [of, plan])).toEqual([]);
  });
});

/** A resource whose size waits. */
function waiting(disruption: ComputeEndpointSpec["disruption"], status: ComputeEndpointStatus = {}, atMs = nowMs) {
  const own = spec({ compute: wanted, disruption });
  return observation({
    nowMs: atMs,
    resource: resource({
      spec: own,
      status: { ownership: ownership(), bookkeeping: acknowledged({ ...own, compute: small }), ...status },
    }),
    endpoints: [endpoint({ ...small, state: "active", suspendTimeoutSeconds: 300 })],
  });
}

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
    const { status } = step(waiting({ when: "WhenIdle" }, { bookkeeping }));
    expect(acknowledgedIn(status)?.unmatchedAttempts).toBe(0);
  });

  it("another desired value → begins anew, with another hash; the same value → keeps both", () => {
    const first = step(waiting({ when: "WhenIdle" })).status;
    const later = step(waiting({ when: "WhenIdle" }, first, nowMs + 3_600_000)).status;
    expect(later.pendingChange).toEqual(first.pendingChange);
    const fields = [{ field: "spec.compute", actual: "0.25-2", desired: "8" }];
    const pendingChange = { hash, sinceTime: timeAt(0), fields };
    const edited = step(waiting({ when: "WhenIdle" }, { pendingChange }, nowMs + 3_600_000)).status.pendingChange;
    expect(edited?.hash).not.toBe(hash);
    expect(Date.parse(edited?.sinceTime ?? "")).toBe(nowMs + 3_600_000);
  });

  it("its begin → one event; the next reconcile → none; its end → one event", () => {
    const begin = step(waiting({ when: "WhenIdle" }));
    expect(begin.events).toMatchObject([{ type: "Normal", reason: "ChangeHeld" }]);
    expect(step(waiting({ when: "WhenIdle" }, begin.status)).events).toEqual([]);
    const given = waiting({}, begin.status);
    const answer = { endpoint: endpoint({ ...wanted, state: "active" }), operations: [operation()] };
    const sent = stepOf(given, { kind: "Accepted", answer });
    const after = statusAfter(given, planFor(given), { kind: "Accepted", answer });
    expect(eventsFor(sent, after)).toMatchObject([{ reason: "ChangeSent" }]);
  });

  it("suspend mode Never without force → a Warning, and the message says it; with force → none", () => {
    const never = (disruption: ComputeEndpointSpec["disruption"]) => {
      const given = waiting(disruption);
      const endpoints = new Map([["ep-own-1", endpoint({ ...small, state: "active", suspendTimeoutSeconds: -1 })]]);
      return step({ ...given, project: { ...given.project, endpoints } }).events;
    };
    const [event] = never({ when: "WhenIdle" });
    expect(event).toMatchObject({ type: "Warning", reason: "CannotBecomeIdle" });
    expect(event?.note).toContain("never idle by itself");
    expect(never({ when: "WhenIdle", forceAfterSeconds: 60 })).toMatchObject([
      { type: "Normal", reason: "ChangeHeld" },
    ]);
  });

  it("nextTime → the next window or the forced end, whichever is earlier; absent if only an approval is missing", () => {
    const window = (schedule: string) => [{ schedule, durationSeconds: 900, timeZone: "UTC" }];
    const nextOf = (disruption: ComputeEndpointSpec["disruption"]) =>
      step(waiting(disruption)).status.pendingChange?.nextTime;
    expect(nextOf({ when: "InWindow", windows: window("0 3 * * *") })).toBe("2026-11-22T03:00:00Z");
    expect(nextOf({ when: "InWindow", windows: window("0 3 * * *"), forceAfterSeconds: 60 })).toBe(
      "2026-11-21T12:01:00Z",
    );
    expect(nextOf({ when: "WhenIdle" })).toBeUndefined();
    expect(nextOf({ when: "WhenIdle", forceAfterSeconds: 3600 })).toBe("2026-11-21T13:00:00Z");
    expect(nextOf({ when: "Immediately", approval: "Required", forceAfterSeconds: 60 })).toBeUndefined();
    expect(nextOf({ when: "InWindow", approval: "Required", windows: window("55 11 * * *") })).toBeUndefined();
  });

  it("a window that closes without the change → WindowMissed, once; an approval that is missing → none", () => {
    const windows = [{ schedule: "0 13 * * *", durationSeconds: 900 }];
    const disruption = { when: "InWindow" as const, windows };
    const closedMs = nowMs + 2 * 3_600_000;
    const before = step(waiting(disruption)).status;
    const after = step(waiting(disruption, before, closedMs));
    expect(after.events).toMatchObject([{ type: "Warning", reason: "WindowMissed" }]);
    expect(step(waiting(disruption, after.status, closedMs + 60_000)).events).toEqual([]);
    const open = waiting(disruption, before, nowMs + 3_660_000);
    const error = new ControlPlaneError("Locked", "locked", { effect: "NotApplied" });
    const refused = statusAfter(open, planFor(open), { kind: "Failed", error, forMs: 0, lockHolder: undefined });
    expect(planFor(open).kind).toBe("UpdateEndpoint");
    expect(step(waiting(disruption, refused, closedMs)).events).toContainEqual(
      expect.objectContaining({ type: "Warning", reason: "WindowMissed" }),
    );
    const unapproved = step(waiting({ ...disruption, approval: "Required" })).status;
    expect(step(waiting({ ...disruption, approval: "Required" }, unapproved, closedMs)).events).toEqual([]);
  });

  it("a timer → at the next window, or when the forced end comes", () => {
    const windows = [{ schedule: "0 13 * * *", durationSeconds: 900 }];
    expect(planFor(waiting({ when: "InWindow", windows }))).toMatchObject({ kind: "Settled", dueInMs: 3_600_000 });
    expect(planFor(waiting({ when: "WhenIdle", forceAfterSeconds: 60 }))).toMatchObject({ dueInMs: 60_000 });
  });

  it("a list that may be out of date → a known wait needs no read by id; after a suspend, or a new wait, it does", () => {
    const known = step(waiting({ when: "WhenIdle" })).status;
    const listed = (status: ComputeEndpointStatus, isSuspended = false) => {
      const given = waiting({ when: "WhenIdle" }, { ...status, observedGeneration: 1 });
      const project = { ...given.project, readsById: new Set<string>() };
      return planFor({ ...given, project, operations: { ...given.operations, isSuspended } }).kind;
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
