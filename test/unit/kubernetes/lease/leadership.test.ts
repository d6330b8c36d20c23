/** Tests leadership with and without an election. */
import { describe, expect, it } from "vitest";
import { createLeaseClient } from "../../../../src/kubernetes/lease/lease-client.ts";
import { LeaseElector, soleLeadership } from "../../../../src/kubernetes/lease/lease-elector.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";
import { ScriptedConnection } from "../scripted-connection.ts";

describe("the leadership of a process that is alone", () => {
  it("its cache becomes complete → leads, once, and may act until it is over", async () => {
    let hasSynced = false;
    let led = 0;
    const onLeading = () => {
      led += 1;
    };
    const leadership = soleLeadership({ mayLead: () => hasSynced, onLeading });
    leadership.nudge();
    leadership.start();
    expect([led, leadership.mayStartEffect(0)]).toEqual([0, false]);
    hasSynced = true;
    leadership.nudge();
    leadership.nudge();
    leadership.start();
    expect([led, leadership.mayStartEffect(8_000)]).toEqual([1, true]);
    expect(await leadership.release(1)).toBe(true);
    leadership.nudge();
    expect([led, leadership.mayStartEffect(0)]).toEqual([1, false]);
  });
});

describe("elected leadership", () => {
  const start = (connection: ScriptedConnection) => {
    const clock = new FakeClock();
    const reported: string[] = [];
    const leadership = new LeaseElector({
      client: createLeaseClient({ connection, namespace: "system", name: "one" }),
      identity: "me",
      clock,
      logger: quietLogger,
      mayLead: () => true,
      onLeading: () => reported.push("leading"),
      onLost: (why) => reported.push(why),
    });
    leadership.start();
    return { clock, leadership, reported };
  };
  const stored = (resourceVersion: string, spec: object) => ({ metadata: { uid: "u", resourceVersion }, spec });

  it("a Lease without a holder → taken by a patch of exactly that version, given back by another, nothing else touched", async () => {
    const connection = new ScriptedConnection();
    let lease = { version: 7, spec: { leaseTransitions: 4 } as object };
    connection.respond = ({ method, body }) => {
      if (method === "PATCH") lease = { version: lease.version + 1, spec: (body as { spec: object }).spec };
      return stored(`${lease.version}`, lease.spec);
    };
    const { clock, leadership, reported } = start(connection);
    await clock.advance(0);
    expect(reported).toEqual(["leading"]);
    expect(await leadership.release(4_000)).toBe(true);
    const path = "/apis/coordination.k8s.io/v1/namespaces/system/leases/one";
    expect(connection.calls).toMatchObject([
      { method: "GET", path },
      {
        method: "PATCH",
        path,
        contentType: "application/merge-patch+json",
        body: {
          metadata: { uid: "u", resourceVersion: "7" },
          spec: { holderIdentity: "me", leaseDurationSeconds: 15, leaseTransitions: 5 },
        },
      },
      { method: "GET", path },
      {
        method: "PATCH",
        path,
        body: { metadata: { uid: "u", resourceVersion: "8" }, spec: { holderIdentity: "", leaseTransitions: 5 } },
      },
    ]);
    expect(connection.calls[1]?.body).toMatchObject({
      spec: { acquireTime: "2026-01-01T00:00:00.000000Z", renewTime: "2026-01-01T00:00:00.000000Z" },
    });
  });

  it.each([undefined, null, "text", {}, { metadata: {} }, { metadata: { uid: "", resourceVersion: "1" } }])(
    "an answer %j that is no Lease → not believed",
    async (answer) => {
      const connection = new ScriptedConnection();
      connection.respond = () => answer;
      const { clock, leadership, reported } = start(connection);
      await clock.advance(60_000);
      expect([reported, leadership.mayStartEffect(0)]).toEqual([[], false]);
      expect(new Set(connection.calls.map(({ method }) => method))).toEqual(new Set(["GET"]));
      await leadership.stop();
    },
  );
});
