/** Tests which events are lost, and what a later equal event does. */
import { describe, expect, it } from "vitest";
import { KubernetesError, type ResourceEvent } from "../../../../src/domain/resource-store.ts";
import { settlePromises } from "../../../support/fake-clock.ts";
import { created, orders, startRecorder } from "./event-scene.ts";

const failed: ResourceEvent = { type: "Warning", reason: "OperationFailed", action: "Observe", note: "it failed" };
const lossMessage = "events were dropped: too many waited, or the process stopped";

describe("events that are lost", () => {
  it("lost at a full queue, reported again when there is room → sent", async () => {
    const { clock, recorder, recordMany, uids } = startRecorder();
    recordMany(2_100);
    recorder.record({ ...orders, uid: "late" }, created);
    await settlePromises();
    await clock.advance(15_000);
    recorder.record({ ...orders, uid: "late" }, created);
    await clock.advance(300_000);
    expect(uids().filter((uid) => uid === "late")).toHaveLength(1);
    // All are recorded at once, before the first hundred were sent. So 101 of 2,101 found no room.
    expect(recorder.stats()).toEqual({ sent: 2_001, dropped: 101 });
  });

  it("good news that made room for a warning, reported again → sent once more as news, counted once", async () => {
    const { clock, recorder, recordMany, uids } = startRecorder();
    recordMany(2_000);
    recorder.record({ ...orders, uid: "failed" }, failed);
    await clock.advance(15_000);
    recorder.record({ ...orders, uid: "u1999" }, created);
    await clock.advance(300_000);
    expect(uids().filter((uid) => uid === "u1999")).toHaveLength(1);
    expect(recorder.stats()).toEqual({ sent: 2_001, dropped: 1 });
  });

  it("a repeat of a known event finds no room → it alone is lost; the next one counts on", async () => {
    const { clock, recorder, recordMany, sent } = startRecorder();
    recorder.record(orders, created);
    await settlePromises();
    recordMany(2_000, created, "other");
    recorder.record(orders, created);
    await clock.advance(15_000);
    recorder.record(orders, created);
    await clock.advance(300_000);
    expect(sent().filter(([method]) => method === "PATCH")).toEqual([["PATCH", 2]]);
    expect(recorder.stats()).toEqual({ sent: 2_002, dropped: 1 });
  });

  it("under way and reported again at the end of the process → each counted once", async () => {
    const { clock, connection, recorder } = startRecorder();
    const gate = Promise.withResolvers<object>();
    connection.respond = () => gate.promise;
    recorder.record(orders, created);
    await settlePromises();
    recorder.record(orders, created);
    const flushed = recorder.flush(4_000);
    await clock.advance(3_100);
    gate.resolve({});
    expect(await flushed).toBe(true);
    expect(recorder.stats()).toEqual({ sent: 1, dropped: 1 });
  });

  it("a queue that stays full → one line a minute that says how many were lost, none while no more are", async () => {
    const { clock, recordMany, warnings } = startRecorder();
    recordMany(2_300);
    await clock.advance(30_000);
    recordMany(2_000, failed, "more");
    await clock.advance(29_000);
    expect(warnings).toEqual([]);
    await clock.advance(1_000);
    // By then, 400 of the waiting events were sent. The warnings have replaced 1,600 normal events.
    expect(warnings).toEqual([{ lost: 1_900, message: lossMessage }]);
    await clock.advance(600_000);
    expect(warnings).toHaveLength(1);
    recordMany(2_150, created, "again");
    await clock.advance(60_000);
    expect(warnings.slice(1)).toEqual([{ lost: 150, message: lossMessage }]);
  });

  it("lost at the end of the process → one line says how many, and no timer is left", async () => {
    const { clock, connection, recorder, recordMany, warnings } = startRecorder();
    connection.respond = () => {
      const { promise, resolve } = Promise.withResolvers<object>();
      clock.after(100, () => resolve({}));
      return promise;
    };
    recordMany(300);
    // The last of them is recorded twice.
    recorder.record({ ...orders, uid: "u299" }, created);
    const flushed = recorder.flush(4_000);
    await clock.advance(3_100);
    expect(await flushed).toBe(true);
    expect(recorder.stats()).toEqual({ sent: 30, dropped: 271 });
    expect(warnings).toEqual([{ lost: 271, message: lossMessage }]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("a process that may not act any more → one line for all that waited", async () => {
    let mayAct = true;
    const { recorder, recordMany, warnings } = startRecorder({ mayAct: () => mayAct });
    recordMany(300);
    await settlePromises();
    mayAct = false;
    expect(await recorder.flush(4_000)).toBe(true);
    expect(recorder.stats()).toEqual({ sent: 100, dropped: 200 });
    expect(warnings).toEqual([{ lost: 200, message: lossMessage }]);
  });

  it("refused by the API server → a line that names it", async () => {
    const { connection, recorder, warnings } = startRecorder();
    connection.respond = () => {
      throw new KubernetesError("Forbidden", "scripted");
    };
    recorder.record(orders, created);
    recorder.record(orders, created);
    await settlePromises();
    expect(recorder.stats()).toEqual({ sent: 0, dropped: 2 });
    expect(warnings).toMatchObject([
      { name: "orders", eventReason: "EndpointCreated", message: "an event could not be sent and is lost" },
    ]);
  });
});
