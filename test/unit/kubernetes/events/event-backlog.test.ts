/** Tests the event recorder with more events than it can send. */
import { describe, expect, it } from "vitest";
import { KubernetesError, type ResourceEvent } from "../../../../src/domain/resource-store.ts";
import { settlePromises } from "../../../support/fake-clock.ts";
import { created, orders, startRecorder } from "./event-scene.ts";

const failed: ResourceEvent = { type: "Warning", reason: "OperationFailed", action: "Observe", note: "it failed" };
const restarting: ResourceEvent = {
  type: "Warning",
  reason: "EndpointRestarting",
  action: "Update",
  note: "it restarts",
  isAhead: true,
};

describe("more events than go out at once", () => {
  it("an API server that hangs → recording never waits, and the queue is bounded", async () => {
    const { clock, connection, recorder } = startRecorder();
    connection.respond = () => new Promise(() => {});
    for (let count = 0; count < 2_500; count += 1) recorder.record({ ...orders, uid: `u${count}` }, created);
    await settlePromises();
    expect(recorder.stats()).toEqual({ sent: 0, dropped: 500 });
    const flushed = recorder.flush(3_000);
    await clock.advance(3_000);
    expect(await flushed).toBe(false);
  });

  it("a burst → a hundred at once and then ten a second, warnings before all others", async () => {
    const { clock, connection, recorder } = startRecorder();
    for (let count = 0; count < 300; count += 1) recorder.record({ ...orders, uid: `u${count}` }, created);
    await settlePromises();
    expect(recorder.stats()).toEqual({ sent: 100, dropped: 0 });
    recorder.record({ ...orders, uid: "failed" }, { ...created, type: "Warning", reason: "OperationFailed" });
    await clock.advance(100);
    expect(connection.calls.at(-1)?.body).toMatchObject({ type: "Warning", regarding: { uid: "failed" } });
    await clock.advance(10_000);
    expect(recorder.stats()).toEqual({ sent: 201, dropped: 0 });
  });

  it("the end of the process → what waits goes out at once", async () => {
    const { clock, recorder } = startRecorder();
    for (let count = 0; count < 300; count += 1) recorder.record({ ...orders, uid: `u${count}` }, created);
    await settlePromises();
    expect(await recorder.flush(3_000)).toBe(true);
    expect(recorder.stats()).toEqual({ sent: 300, dropped: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it("too much for the end of the process → the rest is lost in time, and nothing is under way", async () => {
    const { clock, connection, recorder } = startRecorder();
    connection.respond = () => {
      const { promise, resolve } = Promise.withResolvers<object>();
      clock.after(100, () => resolve({}));
      return promise;
    };
    for (let count = 0; count < 300; count += 1) recorder.record({ ...orders, uid: `u${count}` }, created);
    const flushed = recorder.flush(4_000);
    await clock.advance(3_100);
    expect(await flushed).toBe(true);
    expect(recorder.stats()).toEqual({ sent: 30, dropped: 270 });
  });

  it("a thousand other events were reported since → the oldest is forgotten, and reported again as a new event", async () => {
    const { clock, connection, recorder } = startRecorder();
    const ofUid = (uid: string) => ({ ...orders, uid });
    recorder.record(ofUid("first"), created);
    await settlePromises();
    for (let count = 0; count < 1_000; count += 1) {
      recorder.record(ofUid(`u${count}`), created);
      await clock.advance(100);
    }
    recorder.record(ofUid("u500"), created);
    recorder.record(ofUid("first"), created);
    await settlePromises();
    expect(connection.calls.slice(-2).map(({ method }) => method)).toEqual(["PATCH", "POST"]);
  });

  it("reported ahead of a change while a thousand warnings wait → sent before them, and delays none of them", async () => {
    const { clock, recorder, recordMany, uids } = startRecorder();
    recordMany(1_100, failed);
    await settlePromises();
    recorder.record({ ...orders, uid: "restarting" }, restarting);
    await clock.advance(100);
    expect(uids().slice(100)).toEqual(["restarting", "u100"]);
  });

  it("a size change of the whole fleet → all restarts are published at once, and what is paced keeps its pace", async () => {
    const { clock, recordMany, uids } = startRecorder();
    recordMany(300, failed);
    await settlePromises();
    for (let second = 0; second < 10; second += 1) {
      recordMany(50, restarting, `s${second}-`);
      await clock.advance(1_000);
    }
    expect(uids().filter((uid) => uid.startsWith("s"))).toHaveLength(500);
    expect(uids().filter((uid) => uid.startsWith("u"))).toHaveLength(200);
  });

  it("the burst is used up, and an event is reported ahead of a change → sent at that moment", async () => {
    const { recorder, recordMany, uids } = startRecorder();
    recordMany(100);
    await settlePromises();
    recorder.record({ ...orders, uid: "restarting" }, restarting);
    await settlePromises();
    expect(uids().at(-1)).toBe("restarting");
  });

  it("only events reported ahead of a change → is not paced", async () => {
    const { recordMany, recorder } = startRecorder();
    recordMany(1_000, restarting);
    await settlePromises();
    expect(recorder.stats()).toEqual({ sent: 1_000, dropped: 0 });
  });

  it("reported again while it waits behind more than a thousand → one event that counts both", async () => {
    const { clock, connection, recorder, recordMany } = startRecorder();
    recordMany(2_000);
    await settlePromises();
    await clock.advance(1_000);
    recorder.record({ ...orders, uid: "u300" }, created);
    await clock.advance(200_000);
    const about = connection.calls.filter(({ body }) => Object(Object(body).regarding).uid === "u300");
    expect(about).toHaveLength(1);
    expect(about[0]?.body).toMatchObject({
      eventTime: "2026-01-01T00:00:00.000000Z",
      series: { count: 2, lastObservedTime: "2026-01-01T00:00:01.000000Z" },
    });
    expect(recorder.stats()).toEqual({ sent: 2_001, dropped: 0 });
  });

  it("reported again, and waits until the first is long forgotten → counted on the first all the same", async () => {
    const { clock, connection, recorder, recordMany, sent } = startRecorder();
    recorder.record(orders, created);
    await settlePromises();
    const gate = Promise.withResolvers<object>();
    connection.respond = () => gate.promise;
    recordMany(1);
    await settlePromises();
    recorder.record(orders, created);
    await clock.advance(900_000);
    gate.resolve({});
    await clock.advance(1_000);
    expect(sent().at(-1)).toEqual(["PATCH", 2]);
  });

  it("reported again while the first is under way, and again → one event, whose count rises", async () => {
    const { connection, recorder, sent } = startRecorder();
    const gates = [Promise.withResolvers<object>(), Promise.withResolvers<object>(), Promise.withResolvers<object>()];
    connection.respond = () => gates[connection.calls.length - 1]?.promise;
    for (const gate of gates) {
      recorder.record(orders, created);
      await settlePromises();
      recorder.record(orders, created);
      gate.resolve({});
      await settlePromises();
    }
    expect(sent()).toEqual([
      ["POST", undefined],
      ["PATCH", 2],
      ["PATCH", 4],
      ["PATCH", 6],
    ]);
    expect(recorder.stats()).toEqual({ sent: 6, dropped: 0 });
  });

  it("reported again while the first is under way and then lost → an event of its own", async () => {
    const { connection, recorder, sent } = startRecorder();
    const gate = Promise.withResolvers<object>();
    connection.respond = () => gate.promise;
    recorder.record(orders, created);
    await settlePromises();
    recorder.record(orders, created);
    connection.respond = () => ({});
    gate.reject(new KubernetesError("Forbidden", "scripted"));
    await settlePromises();
    expect(sent()).toEqual([
      ["POST", undefined],
      ["POST", undefined],
    ]);
    expect(recorder.stats()).toEqual({ sent: 1, dropped: 1 });
  });

  it("a repeat that was lost → the next one counts on, without it", async () => {
    const { connection, recorder, sent } = startRecorder();
    recorder.record(orders, created);
    await settlePromises();
    connection.respond = () => {
      throw new KubernetesError("Forbidden", "scripted");
    };
    recorder.record(orders, created);
    await settlePromises();
    connection.respond = () => ({});
    recorder.record(orders, created);
    await settlePromises();
    expect(sent().slice(1)).toEqual([
      ["PATCH", 2],
      ["PATCH", 2],
    ]);
    expect(recorder.stats()).toEqual({ sent: 2, dropped: 1 });
  });
});
