/** Tests the annotations that start and suspend a compute. */
import { describe, expect, it } from "vitest";
import { planOf } from "../../../../src/kinds/endpoint/decide.ts";
import { statusFor } from "../../../../src/kinds/endpoint/status-for.ts";
import { annotations } from "../../../../src/resource/names.ts";
import { endpoint, owned } from "./builders.ts";

const wake = annotations.wakeRequestedAt;
const suspend = annotations.suspendRequestedAt;
const idle = { state: "idle" };
const active = { state: "active" };
const noOperations = { state: {}, mustStore: false };

const given = (
  asked: Readonly<Record<string, string>>,
  shown: NonNullable<Parameters<typeof endpoint>[0]>,
  status: Parameters<typeof owned>[1] = {},
) => owned({}, { ...status, resource: { annotations: asked }, endpoint: shown });

describe("what the annotations ask of a compute", () => {
  it.each([
    ["wake, idle → started", { [wake]: "1" }, idle, { kind: "ChangePower", action: "start" }],
    ["wake, active → echoed without a call", { [wake]: "1" }, active, { echo: { lastHandledWakeAt: "1" } }],
    ["wake, on its way up → echoed", { [wake]: "1" }, { ...idle, pendingState: "active" }, { kind: "Settled" }],
    ["suspend, active → suspended", { [suspend]: "1" }, active, { kind: "ChangePower", action: "suspend" }],
    ["suspend, idle → echoed without a call", { [suspend]: "1" }, idle, { echo: { lastHandledSuspendAt: "1" } }],
    ["suspend, on its way down → echoed", { [suspend]: "1" }, { ...active, pendingState: "idle" }, { kind: "Settled" }],
    ["both, active → suspended first", { [wake]: "1", [suspend]: "1" }, active, { action: "suspend" }],
    [
      "both, idle → started, both echoed",
      { [wake]: "1", [suspend]: "1" },
      idle,
      { action: "start", echo: { lastHandledWakeAt: "1", lastHandledSuspendAt: "1" } },
    ],
    ["wake, disabled → waits", { [wake]: "1" }, { ...idle, disabled: true }, { kind: "Settled", unverifiable: [] }],
  ])("%s", (_, asked, shown, want) => {
    expect(planOf(given(asked, shown))).toMatchObject(want);
  });

  it("a value that was handled → nothing more is done", () => {
    const status = { status: { lastHandledWakeAt: "1", lastHandledSuspendAt: "2" } };
    expect(planOf(given({ [wake]: "1", [suspend]: "2" }, idle, status))).toEqual({ kind: "Settled", unverifiable: [] });
  });

  it("a disabled endpoint → its wish is not echoed", () => {
    expect(planOf(given({ [wake]: "1" }, { ...idle, disabled: true }))).not.toHaveProperty("echo");
  });

  it("a paused resource → no call", () => {
    const paused = given({ [wake]: "1", [annotations.paused]: "true" }, idle);
    expect(planOf(paused)).toMatchObject({ kind: "Wait", reason: "Paused" });
  });

  it("a call that was refused → not echoed; accepted → echoed", () => {
    const observation = given({ [wake]: "1" }, idle);
    const step = { local: observation, observation, plan: planOf(observation) };
    const accepted = { kind: "Accepted", answer: { endpoint: endpoint(), operations: [] } } as const;
    expect(statusFor({ ...step, outcome: accepted }, noOperations).lastHandledWakeAt).toBe("1");
    const deferred = { kind: "Deferred", waitedMs: 0, stillMs: 0 } as const;
    expect(statusFor({ ...step, outcome: deferred }, noOperations)).not.toHaveProperty("lastHandledWakeAt");
  });
});
