/** Tests the limit of requests in flight. */
import { expect, it } from "vitest";
import type { KubernetesCall, KubernetesConnection } from "../../../../src/kubernetes/http/connection.ts";
import { RequestLimit } from "../../../../src/kubernetes/http/request-limit.ts";
import { FakeClock, settlePromises } from "../../../support/fake-clock.ts";

/** A connection whose requests end when the test says so. */
function start(size: number) {
  const clock = new FakeClock();
  const sent: { readonly what: string; readonly end: () => void; readonly fail: (error: Error) => void }[] = [];
  const inner: KubernetesConnection = {
    namespace: "operators",
    request: ({ what }) =>
      new Promise((resolve, reject) => sent.push({ what, end: () => resolve(what), fail: reject })),
    openStream: async () => (async function* () {})(),
    close: async () => {},
  };
  const limit = new RequestLimit({ clock, size });
  const connection = limit.limit(inner);
  const request = (what: string, more: Partial<KubernetesCall> = {}) =>
    connection.request({ what, method: "GET", path: "/", timeoutMs: 8_000, ...more });
  return { clock, sent, limit, connection, request, names: () => sent.map(({ what }) => what) };
}

it("more requests than places → sent in their order, each when one before it has ended, also by a failure", async () => {
  const { sent, limit, request, names } = start(2);
  const all = ["a", "b", "c", "d"].map((what) => request(what).catch(String));
  await settlePromises();
  expect([names(), limit.isFull, limit.inFlight]).toEqual([["a", "b"], true, 2]);
  sent[1]?.fail(new Error("broken"));
  await settlePromises();
  expect(names()).toEqual(["a", "b", "c"]);
  for (const place of [0, 2]) sent[place]?.end();
  await settlePromises();
  sent[3]?.end();
  expect(await Promise.all(all)).toEqual(["a", "Error: broken", "c", "d"]);
  expect([limit.isFull, limit.inFlight]).toEqual([false, 0]);
});

it("a turn → comes after the requests that wait before it, and takes no place", async () => {
  const { sent, limit, request, names } = start(1);
  await limit.turn();
  void request("a");
  void request("b");
  let isTurn = false;
  void limit.turn().then(() => {
    isTurn = true;
  });
  void request("c");
  await settlePromises();
  sent[0]?.end();
  await settlePromises();
  expect([names(), isTurn]).toEqual([["a", "b"], false]);
  sent[1]?.end();
  await settlePromises();
  expect([names(), isTurn]).toEqual([["a", "b", "c"], true]);
});

it("a place is free too late, or the signal fires → the request fails unsent, and the others go on", async () => {
  const { clock, sent, request, names } = start(1);
  void request("a");
  const late = request("late").catch((error: unknown) => error);
  await clock.advance(60_000);
  expect(await late).toMatchObject({ reason: "TimedOut", message: "cannot late: too many other requests wait" });
  const controller = new AbortController();
  const ended = request("ended", { signal: controller.signal }).catch((error: unknown) => error);
  void request("b");
  controller.abort();
  expect(await ended).toMatchObject({ reason: "TimedOut" });
  expect(await request("over", { signal: controller.signal }).catch((error: unknown) => error)).toBeInstanceOf(Error);
  sent[0]?.end();
  await settlePromises();
  expect([names(), clock.pendingTimers]).toEqual([["a", "b"], 0]);
});

it("every place is taken → a watch is opened all the same", async () => {
  const { connection, request } = start(1);
  void request("a");
  await expect(connection.openStream({ what: "watch", method: "GET", path: "/", timeoutMs: 1 })).resolves.toBeDefined();
});
