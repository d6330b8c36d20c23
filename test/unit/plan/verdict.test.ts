import { describe, expect, it } from "vitest";
import { ControlPlaneError, type ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import type { Outcome } from "../../../src/plan/outcome.ts";
import type { Plan } from "../../../src/plan/plan.ts";
import { statusFor } from "../../../src/plan/status-for.ts";
import { verdictFor } from "../../../src/plan/verdict.ts";
import { patienceMs } from "../../../src/plan/verdict-for-failure.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { checkConditions } from "../../support/check-conditions.ts";
import { condition, creating, failed, intent, observation, owned, resource } from "./builders.ts";

const given = owned();
const update: Plan = { kind: "UpdateEndpoint", endpointId: "ep-own-1", changes: {}, hash: "h", restarts: false };
const move: Plan = { kind: "MoveEndpoint", endpointId: "ep-own-1", branchId: "br-x-1" };

describe("a failed call", () => {
  const rows: readonly (readonly [ControlPlaneReason, string, string])[] = [
    ["Malformed", "Stalled Rejected", "Stalled Rejected"],
    ["Unauthorized", "Progressing Unauthorized", "Progressing Unauthorized"],
    ["Forbidden", "Stalled Forbidden", "Stalled Forbidden"],
    ["NotFound", "Progressing Retrying", "Progressing Retrying"],
    ["Conflict", "Progressing Retrying", "Progressing Retrying"],
    ["Rejected", "Progressing Retrying", "Stalled Rejected"],
    ["Locked", "Progressing WaitingForProject", "Progressing WaitingForProject"],
    ["Throttled", "Progressing Throttled", "Progressing Throttled"],
    ["Unavailable", "Progressing ServiceUnavailable", "Progressing ServiceUnavailable"],
    ["ServerError", "Progressing ServiceUnavailable", "Progressing ServiceUnavailable"],
    ["Unreachable", "Progressing ServiceUnavailable", "Progressing ServiceUnavailable"],
    ["TimedOut", "Progressing ServiceUnavailable", "Progressing ServiceUnavailable"],
    ["ConnectionLost", "Progressing ServiceUnavailable", "Progressing ServiceUnavailable"],
    ["UnreadableAnswer", "Progressing UnreadableAnswer", "Progressing UnreadableAnswer"],
  ];
  const say = (outcome: Outcome, plan: Plan = update, of = given) => {
    const verdict = verdictFor(of, plan, outcome);
    return "reason" in verdict ? `${verdict.kind} ${verdict.reason}` : verdict.kind;
  };

  it.each(rows)("%s → at first %s", (reason, first) => {
    expect(say(failed(reason))).toBe(first);
  });

  it.each(rows)("%s for more than five minutes → not %s but %s", (reason, _first, lasting) => {
    expect(say(failed(reason, { forMs: patienceMs }))).toBe(lasting);
    expect(say(failed(reason, { forMs: patienceMs * 1_000 }))).toBe(lasting);
  });

  it.each([
    ["Project", "Stalled ProjectNotFound"],
    ["Branch", "Stalled BranchNotFound"],
    ["Endpoint", "Progressing Retrying"],
    ["Operation", "Progressing Retrying"],
  ] as const)("NotFound about a %s → %s, after five minutes only", (subject, want) => {
    expect(say(failed("NotFound", { subject, forMs: patienceMs - 1 }))).toBe("Progressing Retrying");
    expect(say(failed("NotFound", { subject, forMs: patienceMs }))).toBe(want);
  });

  it("Conflict of a move → Stalled BranchOccupied", () => {
    expect(say(failed("Conflict"), move)).toBe("Stalled BranchOccupied");
  });

  it.each(["Unavailable", "ServerError", "Unreachable", "TimedOut", "ConnectionLost"] as const)(
    "%s of a resource that is Ready → says nothing for half a minute",
    (reason) => {
      const ready = owned({}, { status: { conditions: [condition({ type: "Ready", status: "True" })] } });
      expect(say(failed(reason, { forMs: 29_999 }), update, ready)).toBe("Unchanged");
      expect(say(failed(reason, { forMs: 30_000 }), update, ready)).toBe("Progressing ServiceUnavailable");
    },
  );

  it.each(rows)("%s → every status of it keeps the rules, and says the same on every pass", (reason) => {
    for (const forMs of [0, 60_000, patienceMs, patienceMs * 3]) {
      for (const [plan, of] of [
        [update, given],
        [undefined, given],
        [move, owned({}, { resource: { isDeleting: true } })],
      ] as const) {
        const pass = (at: typeof of) => ({
          local: at,
          observation: plan && at,
          plan,
          outcome: failed(reason, { forMs }),
        });
        const { status } = statusFor(pass(of));
        expect(checkConditions(status, 1)).toEqual([]);
        const next = statusFor(pass({ ...of, nowMs: of.nowMs + 1, resource: { ...of.resource, status } }));
        expect(next.status).toEqual(status);
      }
    }
  });

  it.each(rows)(
    "%s while being deleted → the remedy that works without the service is named, if it is not quick",
    (reason) => {
      const verdict = verdictFor(
        owned({}, { resource: { isDeleting: true } }),
        undefined,
        failed(reason, { forMs: patienceMs }),
      );
      expect(verdict).toHaveProperty("message", expect.stringContaining("spec.deletionPolicy to Retain"));
    },
  );

  it("Unauthorized → CredentialsValid False, and True again after a call that worked", () => {
    const { status } = statusFor({
      local: given,
      observation: undefined,
      plan: undefined,
      outcome: failed("Unauthorized"),
    });
    expect(conditionOf(status.conditions, "CredentialsValid")).toMatchObject({
      status: "False",
      reason: "Unauthorized",
    });
    const next = { ...given, resource: { ...given.resource, status } };
    const after = statusFor({
      local: next,
      observation: next,
      plan: { kind: "Settled", unverifiable: [] },
      outcome: { kind: "Done" },
    });
    expect(conditionOf(after.status.conditions, "CredentialsValid")).toMatchObject({ status: "True" });
  });

  it("a failure that is not about credentials → leaves CredentialsValid as it was", () => {
    const before = owned(
      {},
      {
        status: {
          conditions: [condition({ type: "CredentialsValid", status: "False", reason: "Unauthorized", message: "no" })],
        },
      },
    );
    const { status } = statusFor({
      local: before,
      observation: undefined,
      plan: undefined,
      outcome: failed("TimedOut"),
    });
    expect(conditionOf(status.conditions, "CredentialsValid")).toMatchObject({ status: "False", message: "no" });
  });
});

describe("a turn that has to be waited for", () => {
  const deferred = (waitedMs: number, stillMs: number): Outcome => ({
    kind: "Deferred",
    waitedMs,
    stillMs,
    isFirst: true,
  });
  it("while others have theirs one after the other → is not worth a write", () => {
    expect(verdictFor(given, update, deferred(119_999, 19_999))).toEqual({ kind: "Unchanged" });
  });
  it.each([
    ["nobody's turn has come or gone for 20 s", deferred(20_000, 20_000)],
    ["two minutes in all", deferred(120_000, 0)],
  ])("%s → says so", (_, outcome) => {
    expect(verdictFor(given, update, outcome)).toMatchObject({ kind: "Progressing", reason: "WaitingForProject" });
  });
  it("what was said before may not be true any more → says so after five seconds", () => {
    const ready = owned({}, { status: { conditions: [condition({ type: "Ready", status: "True" })] } });
    expect(verdictFor(ready, update, deferred(4_999, 0))).toEqual({ kind: "Unchanged" });
    expect(verdictFor(ready, update, deferred(5_000, 0))).toMatchObject({ reason: "WaitingForProject" });
  });
  it("Stalled before → says so at once", () => {
    const stalled = owned({}, { status: { conditions: [condition({ type: "Stalled", status: "True" })] } });
    expect(verdictFor(stalled, update, deferred(0, 0))).toMatchObject({ reason: "WaitingForProject" });
  });
  it("for another create of the branch → in its own words, and a pass that was asked for is echoed", () => {
    const wait: Plan = { kind: "Wait", reason: "WaitingForProject", message: "this one follows", requeueAfterMs: 1 };
    const waiting = (ms: number): Outcome => ({ kind: "Waiting", waitedMs: ms, stillMs: ms });
    expect(verdictFor(given, wait, waiting(20_000))).toMatchObject({ message: "this one follows" });
    expect(verdictFor(given, wait, waiting(19_999))).toEqual({ kind: "Unchanged" });
    const asked = owned({}, { resource: { annotations: { "endpoint-operator.dev/reconcile-requested-at": "now" } } });
    const { status } = statusFor({ local: asked, observation: asked, plan: wait, outcome: waiting(0) });
    expect(status.lastHandledReconcileAt).toBe("now");
  });
  it("a pass was asked for meanwhile → is not echoed yet", () => {
    const asked = owned(
      { disabled: true },
      { resource: { annotations: { "endpoint-operator.dev/reconcile-requested-at": "now" } } },
    );
    const pass = (outcome: Outcome) => statusFor({ local: asked, observation: asked, plan: update, outcome }).status;
    expect(pass(deferred(30_000, 30_000)).lastHandledReconcileAt).toBeUndefined();
    expect(pass({ kind: "Accepted", mutation: undefined }).lastHandledReconcileAt).toBe("now");
  });
});

describe("the intent after a create", () => {
  const before = creating();
  const plan: Plan = {
    kind: "CreateEndpoint",
    intent: intent(),
    creation: { branchId: "br-main-1", type: "ReadWrite", name: "n" },
    hash: "h",
  };
  const intentAfter = (outcome: Outcome) =>
    statusFor({ local: before, observation: before, plan, outcome }).status.createIntent;
  const closing: readonly ControlPlaneReason[] = [
    "Malformed",
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "Conflict",
    "Rejected",
  ];
  const keeping: readonly ControlPlaneReason[] = [
    "Locked",
    "Throttled",
    "Unavailable",
    "ServerError",
    "Unreachable",
    "TimedOut",
    "ConnectionLost",
    "UnreadableAnswer",
  ];
  it.each(closing)("%s and every attempt was definite → closed", (reason) => {
    expect(intentAfter(failed(reason, { posts: "AllDefinite" }))).toBeUndefined();
  });
  it.each([...closing, ...keeping])("%s and one attempt is unresolved → stays open", (reason) => {
    expect(intentAfter(failed(reason, { posts: "Unresolved" }))).toEqual(intent());
  });
  it.each(keeping)("%s, every attempt definite → stays open: it is sent again as it is", (reason) => {
    expect(intentAfter(failed(reason, { posts: "AllDefinite" }))).toEqual(intent());
  });
  it("deferred → stays open", () => {
    expect(intentAfter({ kind: "Deferred", waitedMs: 0, stillMs: 0, isFirst: false })).toEqual(intent());
  });
  it("an intent that could not be recorded yet → is not in status", () => {
    const fresh = observation({ resource: resource() });
    const record: Plan = { kind: "RecordIntent", intent: intent() };
    const step = (outcome: Outcome) => statusFor({ local: fresh, observation: fresh, plan: record, outcome }).status;
    expect(step({ kind: "Deferred", waitedMs: 30_000, stillMs: 30_000, isFirst: true }).createIntent).toBeUndefined();
    expect(
      step({
        kind: "Failed",
        error: new ControlPlaneError("Rejected", "no", { effect: "NotApplied" }),
        forMs: 0,
        posts: "Unresolved",
      }).createIntent,
    ).toBeUndefined();
    expect(step({ kind: "Done" }).createIntent).toEqual(intent());
  });
});
