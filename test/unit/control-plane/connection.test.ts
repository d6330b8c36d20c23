/** Tests which key the calls of one reconcile use, and how a control plane is recorded. */
import { expect, it } from "vitest";
import type { KeySource } from "../../../src/control-plane/call.ts";
import { connectControlPlane } from "../../../src/control-plane/connection.ts";
import type { ControlPlaneMetrics } from "../../../src/domain/control-plane.ts";
import { settingsPlane } from "../../../src/resource/control-plane-resource.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { FakeCalls, project } from "./fake-calls.ts";

const ignore = () => undefined;
const metrics: ControlPlaneMetrics = { requestEnded: ignore, budgetWaited: ignore, locked: ignore };

function connected(id: string, keys: KeySource = { current: async () => "key" }) {
  const clock = new FakeClock();
  const calls = new FakeCalls();
  calls.json = { endpoints: [] };
  const connection = connectControlPlane(
    {
      clock,
      metrics,
      logger: quietLogger,
      clusterId: "cluster-a",
      version: "0.0.0",
      config: { requestsPerMinute: 700, requestsPerSecond: 40 },
      fence: { mayStartEffect: () => true },
      callOf: () => calls.call,
    },
    {
      id,
      url: "https://control.example/v2",
      keys,
      mayBeNearby: true,
      onCallEnded: ignore,
    },
  );
  /** Makes the given number of calls in one reconcile. @returns the reason of each error; `undefined`: it succeeded */
  const reconcile = async (count = 1) => {
    const { controlPlane } = connection.access.forCaller({ urgency: "Urgent", project });
    const results = Array.from({ length: count }, () =>
      controlPlane.listEndpoints(project).then(ignore, ({ reason }: { readonly reason: string }) => reason),
    );
    await clock.advance(2_100);
    return await Promise.all(results);
  };
  return { calls, connection, reconcile };
}

it.each([
  [settingsPlane, undefined],
  ["ControlPlane/shop/own", "ControlPlane/shop/own"],
])("the control plane %j → the name in ownership records is %s", async (id, name) => {
  const { connection } = connected(id);
  expect(connection.access.identity.controlPlane).toBe(name);
  await connection.close();
});

it("the key is replaced while a reconcile runs → its calls keep the first one, and a 401 blames that one", async () => {
  const source = ["first", "second", "third"];
  const refused: string[] = [];
  const keys = { current: async () => source.shift() ?? "last", refused: (key: string) => void refused.push(key) };
  const { calls, connection, reconcile } = connected(settingsPlane, keys);
  expect(await reconcile(2)).toEqual([undefined, undefined]);
  calls.failWith("Unauthorized");
  await reconcile(2);
  expect(calls.sent.map(({ key }) => key)).toEqual(["first", "first", "second", "second"]);
  expect(refused).toEqual(["second", "second"]);
  await connection.close();
});
