import { beforeEach, describe, expect, it } from "vitest";
import { createProjectView } from "../../../src/control-plane/create-project-view.ts";
import type { ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import { endpointName, ownershipToken } from "../../../src/plan/ownership-token.ts";
import { CreateTurns } from "../../../src/reconcile/create-turns.ts";
import { ProjectLanes } from "../../../src/reconcile/project-lanes.ts";
import { ProjectPoller } from "../../../src/reconcile/project-poller.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { FakeService } from "../../support/fakes/fake-service.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import {
  condition,
  endpoint,
  identity,
  nowMs,
  operation,
  otherUid,
  ownership,
  project,
  resource,
  spec,
  uid,
} from "../plan/builders.ts";

const pollMs = 30_000;
const ready = [condition({ type: "Ready", status: "True" })];
const billing = { namespace: "shop", name: "billing" };

let clock: FakeClock;
let store: FakeResourceStore;
let service: FakeService;
let poller: ProjectPoller;
let woken: string[];
let orphans: number | undefined;

beforeEach(() => {
  clock = new FakeClock(nowMs);
  store = new FakeResourceStore();
  service = new FakeService(clock);
  woken = [];
  orphans = undefined;
  const wake = ({ name }: { readonly name: string }) => void woken.push(name);
  poller = new ProjectPoller({
    clock,
    store,
    service: {
      identity,
      controlPlane: service,
      view: createProjectView({ controlPlane: service, clock }),
      lanes: new ProjectLanes({ clock, wake }),
      turns: new CreateTurns({ clock, wake }),
    },
    logger: quietLogger,
    projectPollMs: pollMs,
    wake,
    reportOrphans: (count) => {
      orphans = count;
    },
  });
  store.put(resource({ status: { ownership: ownership(), conditions: ready } }));
  store.put(
    resource({
      key: billing,
      uid: otherUid,
      spec: { branchId: "br-other-2" },
      status: { ownership: ownership({ endpointId: "ep-other-2", resourceUid: otherUid }), conditions: ready },
    }),
  );
  service.add(endpoint());
  service.add(endpoint({ id: "ep-other-2", branchId: "br-other-2" }));
});

/** The names woken by one round. */
async function round(): Promise<readonly string[]> {
  woken.length = 0;
  await clock.advance(pollMs);
  return [...woken].sort();
}

async function started(): Promise<void> {
  poller.start();
  await round();
}

describe("a round", () => {
  it("the first → everybody looks: nobody knows what was missed", async () => {
    poller.start();
    expect(await round()).toEqual(["billing", "orders"]);
  });

  it("nothing changed → nobody is woken, and a project costs two reads however many resources it has", async () => {
    await started();
    service.calls.length = 0;
    expect(await round()).toEqual([]);
    expect(service.calls).toEqual(["listOperations", "listEndpoints"]);
  });

  it("activity alone → wakes nobody", async () => {
    await started();
    service.add(endpoint({ lastActiveTime: "2026-11-21T12:00:00Z", updatedTime: "2026-11-21T12:00:00Z" }));
    expect(await round()).toEqual([]);
  });

  it.each([
    ["its endpoint changed", () => service.add(endpoint({ disabled: true }))],
    ["its endpoint is gone", () => void service.endpoints.delete("ep-own-1")],
    ["an operation of it began", () => void service.operations.push(operation({ status: "running" }))],
    [
      "an operation that names only its branch failed",
      () => void service.operations.push(operation({ endpointId: undefined, status: "failed" })),
    ],
  ])("%s → wakes its owner only", async (_change, act) => {
    await started();
    act();
    expect(await round()).toEqual(["orders"]);
    expect(await round()).toEqual([]);
  });

  it("an operation ended → wakes its owner", async () => {
    service.operations.push(operation({ status: "running" }));
    await started();
    service.endOperations("failed");
    expect(await round()).toEqual(["orders"]);
  });

  it("another endpoint changed → wakes who is not Ready: it may be what is waited for", async () => {
    store.edit(billing, () => ({ status: {} }));
    await started();
    service.add(endpoint({ disabled: true }));
    expect(await round()).toEqual(["billing", "orders"]);
  });

  it("no resource names the project any more → is not read any more", async () => {
    await started();
    store.vanish(billing);
    store.vanish({ namespace: "shop", name: "orders" });
    service.calls.length = 0;
    await round();
    expect(service.calls).toEqual([]);
  });

  it("stopped → wakes nobody and reads nothing", async () => {
    await started();
    poller.stop();
    service.calls.length = 0;
    service.add(endpoint({ disabled: true }));
    expect(await round()).toEqual([]);
    expect(service.calls).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("a round that fails", () => {
  const fail = (...reasons: readonly ControlPlaneReason[]) => {
    for (const reason of reasons) {
      service.failNext("listEndpoints", { kind: "Refuse", reason });
    }
  };

  it("once or twice, in a way that passes by itself → wakes nobody; for the third time → everybody, once", async () => {
    await started();
    fail("Unavailable", "TimedOut", "Unavailable", "Unavailable");
    expect([await round(), await round()]).toEqual([[], []]);
    expect(await round()).toEqual(["billing", "orders"]);
    expect(await round()).toEqual([]);
  });

  it.each(["Unauthorized", "Forbidden", "NotFound", "UnreadableAnswer"] as const)(
    "%s → everybody, at once and once",
    async (reason) => {
      await started();
      fail(reason, reason);
      expect([await round(), await round()]).toEqual([["billing", "orders"], []]);
    },
  );

  it("a lasting failure after one that passes by itself → everybody all the same", async () => {
    await started();
    fail("Unavailable", "Unauthorized", "Unauthorized");
    expect([await round(), await round(), await round()]).toEqual([[], ["billing", "orders"], []]);
  });

  it("and then one that works → everybody: nobody knows what was missed", async () => {
    await started();
    fail("Unavailable");
    await round();
    expect(await round()).toEqual(["billing", "orders"]);
    expect(await round()).toEqual([]);
  });

  it("in one project → the others are read all the same", async () => {
    store.edit(billing, (other) => ({
      spec: { kind: "Valid", spec: spec({ projectId: "red-owl-654321" }) },
      status: { ...other.status, ownership: ownership({ projectId: "red-owl-654321", endpointId: "ep-other-2" }) },
    }));
    service.add(endpoint({ id: "ep-other-2", projectId: "red-owl-654321" }));
    await started();
    fail("Unavailable");
    service.add(endpoint({ id: "ep-other-2", projectId: "red-owl-654321", disabled: true }));
    service.add(endpoint({ disabled: true }));
    expect(await round()).toHaveLength(1);
  });
});

describe("orphans", () => {
  const named = (id: string, clusterId: string, ofUid: string) =>
    service.add(endpoint({ id, branchId: id, name: endpointName("orders", ownershipToken(clusterId, ofUid)) }));

  beforeEach(() => {
    service.echoesNames = true;
  });

  it("this cluster's token and no resource → is counted", async () => {
    named("ep-lost-1", identity.clusterId, "uid-gone");
    await started();
    expect(orphans).toBe(1);
    service.endpoints.delete("ep-lost-1");
    await round();
    expect(orphans).toBe(0);
  });

  it.each([
    ["a live resource's token", identity.clusterId, uid],
    ["another cluster's token", "cluster-b", "uid-gone"],
  ])("%s → is none", async (_which, clusterId, ofUid) => {
    named("ep-some-1", clusterId, ofUid);
    await started();
    expect(orphans).toBe(0);
  });

  it("adopted by another resource → is none", async () => {
    named("ep-own-1", identity.clusterId, "uid-gone");
    await started();
    expect(orphans).toBe(0);
  });

  it("whatever is found → nothing is deleted", async () => {
    named("ep-lost-1", identity.clusterId, "uid-gone");
    await started();
    await round();
    expect(service.calls).not.toContain("deleteEndpoint");
    expect(service.endpoints.get("ep-lost-1")?.projectId).toBe(project);
  });
});
