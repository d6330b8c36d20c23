import { beforeEach, describe, expect, it } from "vitest";
import { logNeededSinceMs, tellLogGap } from "../../../src/reconcile/log-need.ts";
import { createMetrics } from "../../../src/telemetry/metrics.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { identity, logBegun, ownership, resource, timeAt } from "../plan/builders.ts";
import { LedgerScene } from "./ledger-scene.ts";
import type { ReconcilerWorld } from "./reconciler-world.ts";

let scene: LedgerScene;
let world: ReconcilerWorld;

beforeEach(async () => {
  scene = new LedgerScene();
  world = scene.world;
  await scene.ready();
});

describe("what the service does by itself", () => {
  it("an availability check that went well → counted; in status the watermark moves and nothing else, no event", async () => {
    const { operationWatermark: _before, ...before } = world.status();
    const events = world.operator.events.length;
    scene.log("op-check", { action: "check_availability" });
    await scene.look();
    const { operationWatermark: after, ...rest } = world.status();
    expect(scene.counted()).toContain("op-check");
    expect(after?.ids).toContain("op-check");
    expect(rest).toEqual(before);
    expect(world.operator.events).toHaveLength(events);
  });

  it("an availability check that runs, and work on other endpoints → no write", async () => {
    const writes = world.store.writes.length;
    scene.log("op-check", { action: "check_availability", status: "running" });
    await scene.look();
    scene.log("op-else", { endpointId: "ep-else" });
    await scene.look();
    expect(world.store.writes).toHaveLength(writes);
  });

  it("an action and a status that nobody knows → shown as they are, counted by name once it ends in one we know", async () => {
    scene.log("op-new", { action: "defragment_everything", status: "levitating" });
    await scene.look();
    const shown = { id: "op-new", action: "defragment_everything", status: "levitating" };
    expect(world.status().operations).toContainEqual(expect.objectContaining(shown));
    expect(world.reason("Ready")).toBe("UpToDate");
    expect(scene.counted()).not.toContain("op-new");
    scene.change("op-new", { status: "error", failuresCount: 1 });
    await scene.look();
    await scene.look();
    expect(scene.counted().filter((id) => id === "op-new")).toHaveLength(1);
    expect(world.status().failedActions).toMatchObject([{ action: "defragment_everything" }]);
    expect(await pageOf(world)).toContain(
      'compute_endpoint_operations_total{action="defragment_everything",outcome="failed",cause="Other"} 1',
    );
  });

  it("operations end in a status that nobody knows → an hour later nobody asks for them any more", async () => {
    for (let n = 0; n < 30; n += 1) {
      scene.log(`op-new-${n}`, { status: "archived" });
      await scene.look();
    }
    pageTheList();
    const asked = () => world.service.calls.filter((method) => method === "getOperation").length;
    for (let n = 0; n < 130; n += 1) {
      scene.log(`log-${n}`);
      await scene.look();
    }
    const before = asked();
    await scene.look();
    expect(asked()).toBe(before);
    expect(world.status().operationWatermark?.unfinishedIds).toEqual([]);
    expect(scene.counted()).toContain("log-129");
  });

  it("more new actions than a label may have → status keeps each name, the metrics say other", async () => {
    for (let n = 0; n < 120; n += 1) {
      scene.log(`log-${n}`, { action: `action_${n}` });
      if (n % 10 === 9) await scene.look();
    }
    expect(world.status().operations?.map(({ action }) => action)).toContain("action_119");
    const page = await pageOf(world);
    expect(page).toContain('action="other"');
    expect(page).not.toContain('action="action_119"');
  });
});

it("an operation dated a year ahead → what fails after it is in status and told by an event, though not counted", async () => {
  const ahead = new Date(world.clock.nowMs() + 365 * 86_400_000).toISOString();
  scene.log("op-ahead", { createdTime: ahead, updatedTime: ahead });
  await scene.look();
  scene.log("op-failed", { action: "apply_config", status: "failed", failuresCount: 1 });
  await scene.look();
  expect(world.status().failedActions).toMatchObject([{ operationId: "op-failed" }]);
  expect(world.operator.events.filter(({ reason }) => reason === "OperationFailed")).toHaveLength(1);
  expect(scene.counted()).not.toContain("op-failed");
});

it("somebody's change, of which memory has lost a part by now → who started the rest stays as it was told, no write", async () => {
  await scene.look();
  const time = scene.serviceTime();
  scene.log("op-apply", { action: "apply_config", createdTime: time });
  await world.clock.advance(1_000);
  scene.log("op-start", { action: "start_compute", createdTime: time });
  await scene.look();
  const told = () => world.status().operations?.find(({ id }) => id === "op-start")?.cause;
  expect(told()).toBe("Other");
  const writes = world.store.writes.length;
  pageTheList();
  for (let n = 0; n < 110; n += 1) {
    scene.log(`log-${n}`, { endpointId: "ep-else" });
    await scene.look();
  }
  expect(told()).toBe("Other");
  expect(world.store.writes).toHaveLength(writes);
});

describe("how far the log is read", () => {
  it("a thousand operations while nobody looked → all of this resource's are counted, then one page a look", async () => {
    const [endpointId] = world.made();
    for (let n = 0; n < 1_000; n += 1) {
      await world.clock.advance(10);
      scene.log(`log-${n}`, { endpointId: n % 4 === 0 ? endpointId : "ep-else" });
    }
    pageTheList();
    scene.restart();
    await scene.look();
    expect(scene.counted().filter((id) => id.startsWith("log-"))).toHaveLength(250);
    const lists = () => world.service.calls.filter((method) => method === "listOperations").length;
    const before = lists();
    await scene.look();
    expect(lists() - before).toBe(1);
  });

  const logged = (createdTime: string, change = {}) =>
    resource({ status: { ownership: ownership(change), operationWatermark: { ...logBegun(), createdTime } } });
  const nothingCounted = { countedUntilMs: () => undefined };

  it("several resources → to the oldest watermark of those that are ours", () => {
    const foreign = logged(timeAt(-90_000), { clusterId: "cluster-b" });
    const resources = [logged(timeAt(-20_000)), logged(timeAt(-50_000)), foreign, resource()];
    expect(logNeededSinceMs(resources, nothingCounted, identity)).toBe(Date.parse(timeAt(-50_000)));
  });

  it("counted further by this process → only from there", () => {
    const ledger = { countedUntilMs: () => Date.parse(timeAt(-1_000)) };
    expect(logNeededSinceMs([logged(timeAt(-50_000))], ledger, identity)).toBe(Date.parse(timeAt(-1_000)));
  });

  it("nobody has a log → nobody needs anything", () => {
    expect(logNeededSinceMs([resource()], nothingCounted, identity)).toBeUndefined();
  });

  it("a part that was not read → a metric, and a line that says from when to when", () => {
    const told: unknown[] = [];
    const cuts: string[] = [];
    const logger = { ...quietLogger, warn: (...line: unknown[]) => void told.push(line) };
    const tell = tellLogGap(logger, { logCutShort: () => void cuts.push("cut") });
    tell("green-fox-123456", { fromMs: Date.parse(timeAt(-9_000)), untilMs: Date.parse(timeAt(-1_000)) });
    expect(cuts).toHaveLength(1);
    const fields = { projectId: "green-fox-123456", fromTime: timeAt(-9_000), untilTime: timeAt(-1_000) };
    expect(told).toEqual([[fields, "operations of this time were not read and are not counted"]]);
  });
});

/** The list comes in pages, as a real one does. */
function pageTheList(): void {
  const { service } = world;
  const whole = service.listOperations.bind(service);
  service.listOperations = async (projectId: string, page: { readonly limit: number; readonly cursor?: string }) => {
    const { operations } = await whole(projectId, { limit: Number.POSITIVE_INFINITY });
    const from = Number(page.cursor ?? 0);
    const until = from + page.limit;
    return {
      operations: operations.slice(from, until),
      unreadableIds: [],
      cursor: until < operations.length ? `${until}` : undefined,
    };
  };
}

/** What this process has counted, as a scrape shows it. */
async function pageOf({ operator, clock }: ReconcilerWorld): Promise<string> {
  const metrics = createMetrics({
    ...{
      clock,
      version: "0.0.0-test",
      workers: 1,
      resources: () => [],
      orphanCount: () => 0,
      unreadableCount: () => 0,
    },
    queueStats: () => ({ depth: 0, unfinishedWorkSeconds: 0, longestRunningSeconds: 0 }),
    watchStats: () => ({ hasSynced: true, isWatching: true, silentForMs: 0, lists: 1, watches: 1 }),
    leader: { leaseName: "test", isLeader: () => true },
  });
  for (const each of operator.counted) metrics.operations.countEnded(each);
  return (await metrics.render("Prometheus")).body;
}
