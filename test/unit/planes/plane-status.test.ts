/** Tests the health of control planes, and status and events of the resources that describe them. */
import { describe, expect, it } from "vitest";
import { ControlPlaneError, type ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import type { KeyRead } from "../../../src/planes/api-key.ts";
import { type PlaneFacts, PlaneHealth, planeEvents, planeStatus } from "../../../src/planes/plane-status.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { parseClusterControlPlane } from "../../../src/resource/control-plane-resource.ts";
import { checkConditions } from "../../support/check-conditions.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { everyPlaneReason, planeSaying, planeWaits } from "../../support/status-saying.ts";

const resource = parseClusterControlPlane({
  metadata: { name: "north", uid: "u-1", resourceVersion: "1", generation: 1 },
  spec: {
    url: "https://control-plane.example.com/api/v2",
    apiKeySecretRef: { namespace: "platform", name: "key", key: "api-key" },
  },
});
const deleted = { ...resource, deletionTimestamp: "2026-01-01T00:00:00Z" };
const key: KeyRead = { kind: "Read", key: "k" };
const usual: PlaneFacts = { resource, key, credentials: "Accepted", currentError: undefined, users: 2, nowMs: 0 };
const outage = { reason: "TimedOut", message: "cannot list: no answer in time", atMs: 0 } as const;

describe("status", () => {
  it.each([
    ["accepted", {}, "True", "KeyAccepted"],
    ["not used yet", { credentials: "Unknown" }, "True", "KeyNotUsedYet"],
    ["refused", { credentials: "Refused" }, "False", "Unauthorized"],
    ["not reachable", { currentError: outage }, "False", "ServiceUnavailable"],
    ["not read", { key: undefined }, "False", "SecretUnreadable"],
    ["no Secret", { key: { kind: "Refused", reason: "SecretNotFound", message: "m" } }, "False", "SecretNotFound"],
    ["being deleted in use", { resource: deleted }, "True", "KeyAccepted"],
  ] as const)("%s → Ready %s %s", (_, change, ready, reason) => {
    const status = planeStatus({ ...usual, ...(change as Partial<PlaneFacts>) });
    expect(conditionOf(status.conditions, "Ready")).toMatchObject({ status: ready, reason });
    expect(status).toMatchObject({ resources: 2, observedGeneration: 1 });
    if (!("resource" in change)) expect(checkConditions(status, 1)).toEqual([]);
  });

  it("the first call got no answer → CredentialsValid does not say that nothing was sent", () => {
    const { conditions } = planeStatus({ ...usual, credentials: "Unknown", currentError: outage });
    expect(conditionOf(conditions, "CredentialsValid")).toMatchObject({
      status: "Unknown",
      message: expect.stringContaining("No call has shown yet"),
    });
  });

  it("a deletion that waits → says for how many resources", () => {
    const { conditions } = planeStatus({ ...usual, resource: deleted });
    expect(conditionOf(conditions, "Reconciling")).toMatchObject({ reason: "InUse" });
    expect(conditionOf(conditions, "Reconciling")?.message).toContain("2 resources use");
  });

  it("the control plane answers again → its last error stays", () => {
    const status = planeStatus({ ...usual, currentError: outage });
    expect(planeStatus({ ...usual, resource: { ...resource, status } }).lastError).toMatchObject({
      reason: "TimedOut",
    });
  });

  it("the Secret is gone and its key still works → Ready says what happens at the next restart", () => {
    const { conditions } = planeStatus({ ...usual, key: { ...key, problem: "There is no Secret platform/key." } });
    const ready = conditionOf(conditions, "Ready");
    expect(ready?.status).toBe("True");
    expect(ready?.message).toMatch(/no Secret platform\/key\. The operator uses the last key until .*restarts/);
  });
});

describe("events", () => {
  it.each(everyPlaneReason)(
    "a new ClusterControlPlane says %s → its event, without the words of the condition",
    (reason) => {
      const { status } = parseClusterControlPlane(planeSaying(reason));
      const events = planeEvents({ kind: "ClusterControlPlane", status: {} }, status);
      const isReady = planeWaits[reason] === "Nothing" || reason === "InUse";
      const wanted = isReady ? ["ControlPlaneReady"] : planeWaits[reason] === "Person" ? [reason] : [];
      expect(events.map((event) => event.reason)).toEqual(wanted);
      expect(JSON.stringify(events)).not.toContain(`The message of ${reason}`);
      expect(planeEvents({ kind: "ClusterControlPlane", status }, status)).toEqual([]);
    },
  );

  it("a new ControlPlane that no call has used → its event does not say that it works", () => {
    const [event] = planeEvents(
      { kind: "ControlPlane", status: {} },
      planeStatus({ ...usual, credentials: "Unknown" }),
    );
    expect(event).toMatchObject({ reason: "ControlPlaneReady", note: expect.not.stringContaining("can use") });
  });

  it("a ControlPlane becomes Stalled → the event has the message of the condition", () => {
    const { status } = parseClusterControlPlane(planeSaying("SecretNotFound"));
    const [event] = planeEvents({ kind: "ControlPlane", status: {} }, status);
    expect(event).toMatchObject({ reason: "SecretNotFound", note: "The message of SecretNotFound." });
  });
});

/** The health of a control plane, its calls, and the number of times that its status may have changed. */
function scene() {
  const clock = new FakeClock();
  const counted = { changes: 0 };
  const health = new PlaneHealth(clock, () => {
    counted.changes += 1;
  });
  const fail = (reason: ControlPlaneReason) =>
    health.noteCall(new ControlPlaneError(reason, `cannot list: ${reason}`, { effect: "NotApplied" }));
  const succeed = () => health.noteCall(undefined);
  return { clock, health, fail, succeed, counted };
}

it("one project fails while another one gets answers → nothing changes, however often", async () => {
  const { clock, health, fail, succeed, counted } = scene();
  succeed();
  for (let n = 0; n < 20; n += 1) {
    fail("ServerError");
    fail("TimedOut");
    succeed();
    await clock.advance(20_000);
  }
  expect(counted.changes).toBe(1);
  expect(health.state.currentError).toBeUndefined();
});

it("the first call has no answer → failing at once: its URL may be wrong", () => {
  const { health, fail, succeed } = scene();
  fail("Unavailable");
  expect(health.state.currentError).toMatchObject({ reason: "Unavailable" });
  succeed();
  expect(health.state.currentError).toBeUndefined();
});

it("no answer for half a minute → failing, for one reason that stays, until the next answer", async () => {
  const { clock, health, fail, succeed, counted } = scene();
  succeed();
  for (const reason of ["TimedOut", "ServerError", "TimedOut", "Unavailable"] as const) {
    fail(reason);
    await clock.advance(15_000);
  }
  fail("ServerError");
  expect(health.state.currentError).toMatchObject({ reason: "TimedOut" });
  expect(counted.changes).toBe(2);
  succeed();
  expect(health.state.currentError).toBeUndefined();
});

it("the key is refused → failing at once, also while other calls time out; with another key it is not", () => {
  const { health, fail } = scene();
  fail("TimedOut");
  fail("Unauthorized");
  fail("TimedOut");
  expect(health.state).toMatchObject({ credentials: "Refused", currentError: { reason: "Unauthorized" } });
  health.forgetKey();
  expect(health.state).toEqual({ credentials: "Unknown", currentError: undefined });
});

it("the key is refused, then an answer about another thing → accepted", () => {
  const { health, fail } = scene();
  fail("Unauthorized");
  fail("NotFound");
  expect(health.state).toEqual({ credentials: "Accepted", currentError: undefined });
});
