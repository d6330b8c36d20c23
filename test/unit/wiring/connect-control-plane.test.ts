/** Tests how a control plane is connected: what an edit of its request budget keeps, and the spans of its calls. */
import { expect, it } from "vitest";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import type { Tracer } from "../../../src/domain/tracer.ts";
import { connectControlPlane } from "../../../src/wiring/connect-control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { recordSpans } from "../../support/recorded-spans.ts";
import { FakeControlPlane, project } from "../control-plane/fake-control-plane.ts";

function connected(tracer?: Tracer) {
  const clock = new FakeClock();
  const inner = Object.assign(new FakeControlPlane(), { objects: { listRoles: async () => [] } as never });
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
        tracer,
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

it("calls for roles and databases → spans like those for endpoints", async () => {
  const { tracer, spans } = recordSpans();
  const { access } = connected(tracer).connection;
  await access.objects?.reserved.listRoles({ projectId: project, branchId: "br-one-1" });
  expect(spans().map(({ name }) => name)).toEqual(["GET /projects/{project_id}/branches/{branch_id}/roles"]);
});
