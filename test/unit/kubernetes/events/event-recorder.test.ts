/** Tests the event recorder. */
import { describe, expect, it } from "vitest";
import type { LogFields } from "../../../../src/domain/logger.ts";
import { KubernetesError, type ResourceEvent } from "../../../../src/domain/resource-store.ts";
import { eventName, QueuedEventRecorder } from "../../../../src/kubernetes/events/event-recorder.ts";
import { FakeClock, settlePromises } from "../../../support/fake-clock.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";
import { ScriptedConnection } from "../scripted-connection.ts";

const orders = { key: { namespace: "shop", name: "orders" }, uid: "u1", resourceVersion: "7" };
const created: ResourceEvent = {
  type: "Normal",
  reason: "EndpointCreated",
  action: "Create",
  note: "created ep-1",
};

/** A recorder on a scripted connection. */
function startRecorder(mayAct = true) {
  const clock = new FakeClock();
  const connection = new ScriptedConnection();
  const warnings: LogFields[] = [];
  const recorder = new QueuedEventRecorder({
    connection,
    clock,
    instance: "pod-1",
    random: () => 0.5,
    fence: { mayStartEffect: () => mayAct },
    logger: { ...quietLogger, warn: (fields) => void warnings.push(fields) },
  });
  const sent = () =>
    connection.calls.map(({ method, body }) => [method, (body as { series?: { count: number } }).series?.count]);
  /** Records the event for this number of other resources. */
  const recordMany = (count: number, prefix = "u") => {
    for (let index = 0; index < count; index += 1) {
      recorder.record({ ...orders, uid: `${prefix}${index}` }, created);
    }
  };
  return { clock, connection, recorder, sent, recordMany, warnings };
}

describe("the event recorder", () => {
  it("one event → one POST of an events.k8s.io/v1 Event about the resource", async () => {
    const { connection, recorder } = startRecorder();
    recorder.record(orders, created);
    await settlePromises();
    expect(connection.calls).toHaveLength(1);
    expect(connection.calls[0]).toMatchObject({
      method: "POST",
      path: "/apis/events.k8s.io/v1/namespaces/shop/events",
    });
    expect(connection.calls[0]?.body).toEqual({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "orders.8888888888888888", namespace: "shop" },
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "endpoint-operator",
      reportingInstance: "pod-1",
      type: "Normal",
      reason: "EndpointCreated",
      action: "Create",
      note: "created ep-1",
      regarding: {
        apiVersion: "endpoint-operator.dev/v1alpha1",
        kind: "ComputeEndpoint",
        namespace: "shop",
        name: "orders",
        uid: "u1",
        resourceVersion: "7",
      },
    });
  });

  it("an event of an object without a namespace → in default, about an object without a namespace", async () => {
    const { connection, recorder } = startRecorder();
    recorder.record({ ...orders, kind: "ClusterControlPlane", key: { namespace: "", name: "analytics" } }, created);
    await recorder.flush(1_000);
    const [call] = connection.calls;
    expect(call?.path).toBe("/apis/events.k8s.io/v1/namespaces/default/events");
    expect(call?.body).toMatchObject({
      metadata: { namespace: "default" },
      regarding: { kind: "ClusterControlPlane", name: "analytics" },
    });
    expect(call?.body).not.toHaveProperty("regarding.namespace");
  });

  it("the same again within minutes → the same event, counted; another note → another event", async () => {
    const { clock, connection, recorder, sent } = startRecorder();
    recorder.record(orders, created);
    await clock.advance(60_000);
    recorder.record({ ...orders, resourceVersion: "8" }, { ...created });
    await clock.advance(60_000);
    recorder.record(orders, { ...created, note: "created ep-2" });
    await settlePromises();
    expect(sent()).toEqual([
      ["POST", undefined],
      ["PATCH", 2],
      ["POST", undefined],
    ]);
    expect(connection.calls[1]).toMatchObject({
      path: "/apis/events.k8s.io/v1/namespaces/shop/events/orders.8888888888888888",
      contentType: "application/merge-patch+json",
      body: { series: { count: 2, lastObservedTime: "2026-01-01T00:01:00.000000Z" } },
    });
  });

  it("the same again after a long while → a new event", async () => {
    const { clock, recorder, sent } = startRecorder();
    recorder.record(orders, created);
    await clock.advance(360_000);
    recorder.record(orders, created);
    await settlePromises();
    expect(sent()).toEqual([
      ["POST", undefined],
      ["POST", undefined],
    ]);
  });

  it("recorded at whichever moment the one before comes to its end → sent all the same, and waited for", async () => {
    const microtasks = Array.from({ length: 30 }, (_, index) => index);
    for (const count of microtasks) {
      const { connection, recorder } = startRecorder();
      const gate = Promise.withResolvers<object>();
      connection.respond = () => gate.promise;
      recorder.record(orders, created);
      gate.resolve({});
      for (let passed = 0; passed < count; passed += 1) await undefined;
      recorder.record(orders, { ...created, note: "another" });
      expect(await recorder.flush(1_000)).toBe(true);
      expect(connection.calls, `${count} microtasks later`).toHaveLength(2);
    }
  });

  it("a failed write → the event is lost, with a line that names it; the next equal one is created", async () => {
    const { clock, connection, recorder, sent, warnings } = startRecorder();
    recorder.record(orders, created);
    await clock.advance(1_000);
    connection.respond = () => {
      throw new KubernetesError("Unavailable", "scripted");
    };
    recorder.record(orders, created);
    await clock.advance(60_000);
    connection.respond = () => ({});
    recorder.record(orders, created);
    await clock.advance(1_000);
    expect(sent().map(([method]) => method)).toEqual(["POST", "PATCH", "POST"]);
    expect(warnings).toContainEqual(expect.objectContaining({ name: "orders", eventReason: "EndpointCreated" }));
  });

  it("a process that may not act → sends nothing", async () => {
    const { connection, recorder, clock } = startRecorder(false);
    recorder.record(orders, created);
    await clock.advance(60_000);
    expect(connection.calls).toEqual([]);
    expect(await recorder.flush(1_000)).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it("a note of many lines or bytes → one line of 1024 bytes at most", async () => {
    const { connection, recorder } = startRecorder();
    recorder.record(orders, { ...created, note: `a\n b${"é".repeat(2_000)}` });
    await settlePromises();
    const [call] = connection.calls;
    const note = String(Object(call?.body).note);
    expect(note.startsWith("a bé")).toBe(true);
    expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1_024);
    expect(note).not.toContain("\uFFFD");
    expect(note.endsWith("…")).toBe(true);
  });

  it("a very long name of the resource → a valid name of the event", () => {
    for (const name of [
      "x".repeat(253),
      `${"x".repeat(235)}-${"y".repeat(17)}`,
      `${"x".repeat(235)}.${"y".repeat(17)}`,
    ]) {
      const event = eventName(name, Math.random);
      expect(event.length).toBeLessThanOrEqual(253);
      expect(event).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
    }
  });

  it("a burst → a hundred at once and then ten a second; more than 2,000 → dropped, with one line", async () => {
    const { clock, connection, recorder, recordMany, warnings } = startRecorder();
    recordMany(2_100);
    await settlePromises();
    expect(connection.calls).toHaveLength(100);
    await clock.advance(1_000);
    expect(connection.calls).toHaveLength(110);
    expect(warnings).toMatchObject([{ dropped: 1 }]);
    await clock.advance(200_000);
    recorder.record({ ...orders, uid: "late" }, created);
    await settlePromises();
    expect(connection.calls).toHaveLength(2_002);
  });

  it("the end of the process → what waits goes out without pauses, and the rest is dropped in time", async () => {
    const { clock, connection, recorder, recordMany } = startRecorder();
    recordMany(200);
    expect(await recorder.flush(4_000)).toBe(true);
    expect(connection.calls).toHaveLength(200);
    connection.respond = () => {
      const { promise, resolve } = Promise.withResolvers<object>();
      clock.after(100, () => resolve({}));
      return promise;
    };
    recordMany(300, "more");
    const flushed = recorder.flush(4_000);
    await clock.advance(3_100);
    expect(await flushed).toBe(true);
    expect(connection.calls).toHaveLength(230);
    expect(clock.pendingTimers).toBe(0);
  });
});
