import { beforeEach, describe, expect, it } from "vitest";
import { deleteUnrecorded } from "../../../src/reconcile/delete-unrecorded.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeOperator } from "../../support/fakes/fake-operator.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { FakeService } from "../../support/fakes/fake-service.ts";
import { endpoint, intent, otherUid, ownership, resource } from "../plan/builders.ts";

const key = { namespace: "shop", name: "gone" };
let service: FakeService;
let store: FakeResourceStore;
let operator: FakeOperator;

const remove = (live = undefined) => {
  const { connected, ledger } = operator;
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  return deleteUnrecorded({ store, ledger, logger, service: connected }, key, live);
};

beforeEach(() => {
  const clock = new FakeClock();
  service = new FakeService(clock);
  store = new FakeResourceStore();
  operator = new FakeOperator({ clock, store, service });
  service.add(endpoint());
  operator.ledger.intentRecording(key, "gone-uid", { attempt: intent().attempt, nowMs: 0 });
  operator.ledger.postAnswered("gone-uid", { endpoint: endpoint(), operations: [], hash: "h", attempt: "attempt-1" });
});

describe("the endpoint of a resource that was gone", () => {
  it("deleted and not found any more → done, and forgotten", async () => {
    expect(await remove()).toBe(false);
    expect([...service.endpoints.keys()]).toEqual([]);
    expect(operator.ledger.unrecorded()).toEqual([]);
  });

  it("deleted, and found all the same → something is left", async () => {
    service.beforeCall = (method) => {
      if (method === "getEndpoint") {
        service.add(endpoint());
      }
    };
    expect(await remove()).toBe(true);
    expect(operator.ledger.unrecorded()).toHaveLength(1);
  });

  it.each(["deleteEndpoint", "getEndpoint"] as const)(
    "%s fails → something is left, nothing thrown",
    async (method) => {
      service.failNext(method, { kind: "Refuse", reason: "Locked" });
      expect(await remove()).toBe(true);
      expect(await remove()).toBe(false);
    },
  );

  it("somebody has adopted it meanwhile → left alone", async () => {
    const record = ownership({ endpointId: endpoint().id, resourceUid: otherUid, origin: "Adopted" });
    store.put(resource({ key: { namespace: "shop", name: "heir" }, uid: otherUid, status: { ownership: record } }));
    expect(await remove()).toBe(false);
    expect([...service.endpoints.keys()]).toEqual([endpoint().id]);
  });

  it("somebody's adoption is on its way into status → left alone", async () => {
    operator.ledger.ownershipRecording({ namespace: "shop", name: "heir" }, otherUid, endpoint().id);
    expect(await remove()).toBe(false);
    expect([...service.endpoints.keys()]).toEqual([endpoint().id]);
  });
});
