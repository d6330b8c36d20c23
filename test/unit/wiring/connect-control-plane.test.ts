/** Tests which key the calls of one reconcile use, and what a connection keeps when its request budget is edited. */
import { expect, it } from "vitest";
import type { KeySource } from "../../../src/control-plane/key-source.ts";
import type { ControlPlane } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { connectControlPlane } from "../../../src/wiring/connect-control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { noBranchObjects } from "../../support/fakes/no-branch-objects.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { FakeControlPlane, project } from "../control-plane/fake-control-plane.ts";

function connected(keys: KeySource = { current: async () => "key" }) {
  const clock = new FakeClock();
  const inner = new FakeControlPlane();
  const sentKeys: string[] = [];
  const clientWith = (own: Pick<KeySource, "current">) => {
    const { serviceUrl } = inner;
    const listEndpoints = async (projectId: string) => {
      sentKeys.push(await own.current());
      return await inner.listEndpoints(projectId);
    };
    return { ...noBranchObjects, serviceUrl, listEndpoints } as unknown as ControlPlane;
  };
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
      ...{ url: "https://control.example/v2", keys, onNewKey: () => {} },
      client: (own) => clientWith(own),
    },
  );
  const call = async () => {
    const called = connection.access.forCaller({ urgency: "Urgent", project: "p" }).controlPlane.listEndpoints(project);
    const result = called.then(
      () => undefined,
      (error: unknown) => error,
    );
    await clock.advance(2_100);
    return await result;
  };
  return { inner, connection, call, sentKeys };
}

it("the key is replaced while a reconcile runs → its calls keep the first one, and a 401 blames that one", async () => {
  const source = ["first", "second", "third"];
  const refused: string[] = [];
  const keys = { current: async () => source.shift() ?? "last", refused: (key: string) => void refused.push(key) };
  const { inner, connection, sentKeys } = connected(keys);
  const caller = { urgency: "Urgent", namespace: "shop", project } as const;
  const { reserved } = connection.access.forCaller(caller);
  await reserved.listEndpoints(project);
  inner.beforeAnswer = () => Promise.reject(new ControlPlaneError("Unauthorized", "no", { effect: "NotApplied" }));
  await expect(reserved.listEndpoints(project)).rejects.toMatchObject({ reason: "Unauthorized" });
  expect({ sentKeys, refused }).toEqual({ sentKeys: ["first", "first"], refused: ["first"] });
  inner.beforeAnswer = async () => undefined;
  await connection.access.forCaller(caller).reserved.listEndpoints(project);
  expect(sentKeys).toEqual(["first", "first", "second"]);
  await connection.close();
});

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
