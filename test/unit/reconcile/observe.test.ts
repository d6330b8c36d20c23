import { beforeEach, describe, expect, it } from "vitest";
import type { ProjectReading } from "../../../src/domain/project-view.ts";
import { CreateTurns } from "../../../src/reconcile/create-turns.ts";
import { Ledger } from "../../../src/reconcile/ledger.ts";
import { type ObserveContext, observeClaims, observeLocal, observeService } from "../../../src/reconcile/observe.ts";
import { ProjectLanes } from "../../../src/reconcile/project-lanes.ts";
import type { ComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { annotations } from "../../../src/resource/names.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { FakeService } from "../../support/fakes/fake-service.ts";
import {
  condition,
  endpoint,
  identity,
  intent,
  otherToken,
  otherUid,
  ownership,
  project,
  resource,
} from "../plan/builders.ts";

const projectPollMs = 30_000;
const ready = [condition({ type: "Ready", status: "True" })];
const { key, uid } = resource();
const billing = { namespace: "shop", name: "billing" };

let clock: FakeClock;
let store: FakeResourceStore;
let service: FakeService;
let ledger: Ledger;
let askedFor: number[];
let reading: Omit<ProjectReading, "asOfMs">;
/** How old the reading is that the view answers with. */
let ageMs: number;
let context: ObserveContext;

beforeEach(async () => {
  clock = new FakeClock();
  store = new FakeResourceStore();
  service = new FakeService(clock);
  ledger = new Ledger();
  askedFor = [];
  ageMs = 0;
  reading = {
    projectId: project,
    endpoints: [],
    unreadableEndpointIds: [],
    operations: [],
    newestListedTime: undefined,
    echoesNames: false,
  };
  const wake = () => {};
  context = {
    clock,
    store,
    ledger,
    projectPollMs,
    service: {
      identity,
      controlPlane: service,
      lanes: new ProjectLanes({ clock, wake }),
      turns: new CreateTurns({ clock, wake }),
      view: {
        async read(_projectId, notOlderThanMs) {
          askedFor.push(notOlderThanMs);
          return { ...reading, asOfMs: clock.monotonicMs() - ageMs };
        },
        noteWrite() {},
        lastWriteMs: () => undefined,
        watchOperation() {},
        forget() {},
      },
    },
  };
  await clock.advance(1_000_000);
});

const observe = (self: ComputeEndpoint) => observeService(context, observeLocal(context, self));
const atRest = (change: Parameters<typeof resource>[0] = {}) =>
  resource({
    ...change,
    status: { ownership: ownership(), observedGeneration: 1, conditions: ready, ...change.status },
  });
const wrote = (agoMs: number) =>
  ledger.writeEnded(key, uid, { nowMs: clock.monotonicMs() - agoMs, isDelete: false, operationIds: [] });

describe("how old a reading may be", () => {
  const nowMs = () => clock.monotonicMs();

  it("at rest → as old as a poll", async () => {
    await observe(atRest());
    expect(askedFor).toEqual([nowMs() - projectPollMs]);
  });

  it("at rest, a write of ours since the poll → not older than it", async () => {
    wrote(5_000);
    await observe(atRest());
    expect(askedFor).toEqual([nowMs() - 5_000]);
  });

  it.each<readonly [string, ComputeEndpoint]>([
    ["being deleted", atRest({ isDeleting: true })],
    ["edited", atRest({ generation: 2 })],
    ["not Ready", resource({ status: { ownership: ownership(), observedGeneration: 1 } })],
    ["asked for", atRest({ annotations: { [annotations.reconcileRequestedAt]: "now" } })],
  ])("%s → begun now", async (_state, self) => {
    await observe(self);
    expect(askedFor).toEqual([nowMs()]);
  });
});

describe("gone", () => {
  const remote = async () => (await observe(atRest())).remote.kind;

  it("neither listed nor found by id → proven", async () => {
    expect(await remote()).toBe("Absent");
  });

  it("listed → there, and not asked for by id", async () => {
    reading = { ...reading, endpoints: [endpoint()] };
    expect(await remote()).toBe("Present");
    expect(service.calls).toEqual([]);
  });

  it("listed as it was before our own last write → asked for by id", async () => {
    service.add(endpoint({ maxUnits: 4, updatedTime: "2026-11-21T10:00:09Z" }));
    reading = { ...reading, endpoints: [endpoint({ maxUnits: 2, updatedTime: "2026-11-21T10:00:00Z" })] };
    const answer = endpoint({ maxUnits: 4, updatedTime: "2026-11-21T10:00:09Z" });
    ledger.writeEnded(key, uid, { nowMs: clock.monotonicMs(), isDelete: false, operationIds: [], answer });
    expect(await remote()).toBe("Present");
    expect(service.calls).toContain("getEndpoint");
  });

  it("listed and found by id as it was before our own last write → not proven", async () => {
    service.add(endpoint({ updatedTime: "2026-11-21T10:00:00Z" }));
    reading = { ...reading, endpoints: [endpoint({ updatedTime: "2026-11-21T10:00:00Z" })] };
    const answer = endpoint({ updatedTime: "2026-11-21T10:00:09Z" });
    ledger.writeEnded(key, uid, { nowMs: clock.monotonicMs(), isDelete: false, operationIds: [], answer });
    expect(await remote()).toBe("Unproven");
  });

  it("not listed, found by id → there: the list lags", async () => {
    service.add(endpoint());
    expect(await remote()).toBe("Present");
  });

  it("neither, but the list is from before our last write → not proven", async () => {
    ageMs = 100;
    wrote(50);
    expect(await remote()).toBe("Unproven");
  });

  it("the read by id fails → nothing is known", async () => {
    service.failNext("getEndpoint", { kind: "Refuse", reason: "UnreadableAnswer" });
    await expect(remote()).rejects.toMatchObject({ reason: "UnreadableAnswer" });
  });
});

describe("what others claim", () => {
  const claimed = () => observeClaims(context, resource()).map(({ ownedEndpointId }) => ownedEndpointId);

  it("ownership on its way into status → counts already", () => {
    store.put(resource({ key: billing, uid: otherUid }));
    expect(claimed()).toEqual([undefined]);
    ledger.ownershipRecording(billing, otherUid, "ep-there-1");
    expect(claimed()).toEqual(["ep-there-1"]);
  });

  it("stored ownership → comes before what is remembered", () => {
    store.put(resource({ key: billing, uid: otherUid, status: { ownership: ownership({ resourceUid: otherUid }) } }));
    ledger.ownershipRecording(billing, otherUid, "ep-there-1");
    expect(claimed()).toEqual(["ep-own-1"]);
  });

  it("another project → claims nothing here", () => {
    store.put(resource({ key: billing, uid: otherUid, spec: { projectId: "red-owl-654321" } }));
    expect(claimed()).toEqual([]);
  });
});

describe("the turn to create", () => {
  const isTurn = async (self: ComputeEndpoint) => (await observe(self)).createTurn.kind === "Ours";

  it("nothing open → ours", async () => {
    expect(await isTurn(resource())).toBe(true);
  });

  it("another's create open in the same place, of which only its status tells → not ours", async () => {
    store.put(resource({ key: billing, uid: otherUid, status: { createIntent: intent({ token: otherToken }) } }));
    expect(await isTurn(resource())).toBe(false);
  });

  it("another's create there, Stalled → ours: a person may take long", async () => {
    const stalled = [condition({ type: "Stalled", status: "True", reason: "CreateAmbiguous" })];
    store.put(
      resource({
        key: billing,
        uid: otherUid,
        status: { createIntent: intent({ token: otherToken }), conditions: stalled },
      }),
    );
    expect(await isTurn(resource())).toBe(true);
  });

  it("another's create open elsewhere → ours", async () => {
    store.put(
      resource({
        key: billing,
        uid: otherUid,
        status: { createIntent: intent({ branchId: "br-other-2", token: otherToken }) },
      }),
    );
    expect(await isTurn(resource())).toBe(true);
  });

  it("our own create open → ours again", async () => {
    expect(await isTurn(resource({ status: { createIntent: intent() } }))).toBe(true);
  });

  it("an endpoint owned → nothing to create", async () => {
    expect(await isTurn(atRest())).toBe(false);
  });
});
