/** Tests what a connected control plane keeps when its request budget is edited. */
import { expect, it } from "vitest";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { connectControlPlane } from "../../../src/wiring/connect-control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { FakeControlPlane, project } from "../control-plane/fake-control-plane.ts";

function connected() {
  const clock = new FakeClock();
  const inner = new FakeControlPlane();
  const observer = {
    ...{
      throttled: () => {},
      budgetWaited: () => {},
      requestSent: () => {},
      keyJudged: () => {},
      keyForgotten: () => {},
      callBegan: () => {},
      throttledAt: () => {},
    },
  };
  const connection = connectControlPlane(
    {
      ...{
        clock,
        logger: quietLogger,
        clusterId: "cluster-a",
        version: "0.0.0",
        fence: { mayStartEffect: () => true },
      },
      ...{ config: { requestsPerMinute: 700, requestsPerSecond: 40 }, observer: observer as never },
    },
    {
      ...{ url: "https://control.example/v2", keys: { current: async () => "key" }, onNewKey: () => {} },
      client: inner,
    },
  );
  const call = async () => {
    const called = connection.access
      .forCaller({ urgency: "Urgent", namespace: "shop", project: "p" })
      .listEndpoints(project);
    const result = called.then(
      () => undefined,
      (error: unknown) => error,
    );
    await clock.advance(2_100);
    return await result;
  };
  return { inner, connection, call };
}

it.each([
  ["asked to wait (429)", "Throttled"],
  ["refused the key (401)", "Unauthorized"],
] as const)("the control plane %s, and the budget is edited → no call is sent before its time", async (_, reason) => {
  const { inner, connection, call } = connected();
  const refusal = new ControlPlaneError(reason, "no", {
    ...{ effect: "NotApplied", retryAfterMs: 600_000 },
  });
  inner.beforeAnswer = () => Promise.reject(refusal);
  expect(await call()).toMatchObject({ reason });
  const sent = inner.calls.length;
  connection.setRequestsPerMinute(60);
  expect(await call()).toMatchObject({ reason });
  expect(inner.calls.length).toBe(sent);
  await connection.close();
});
