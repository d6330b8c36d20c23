/** Tests when a request counts as sent. */
import type { Dispatcher } from "undici";
import { expect, test } from "vitest";
import { exchange } from "../../../src/http/exchange.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const limits = { timeoutMs: 100, maxResponseBytes: 1_000 };
const request = { origin: "http://server.example", method: "POST", path: "/", headers: {} };

/** A dispatcher that only passes its handler to the test. The test acts as the connection. */
function playedDispatcher() {
  const handlers: Dispatcher.DispatchHandler[] = [];
  const dispatch = (_options: unknown, handler: Dispatcher.DispatchHandler) => handlers.push(handler) > 0;
  return { dispatcher: { dispatch } as unknown as Dispatcher, handlers };
}

function controller() {
  const aborted: Error[] = [];
  const played = { abort: (error: Error) => void aborted.push(error) } as unknown as Dispatcher.DispatchController;
  return { aborted, played };
}

test("a dispatcher that starts the same request again on another connection → aborted before its first byte", async () => {
  const { dispatcher, handlers } = playedDispatcher();
  const outcome = exchange(dispatcher, request, { ...limits, clock: new FakeClock() });
  const [first, second] = [controller(), controller()];
  handlers[0]?.onRequestStart?.(first.played, null);
  handlers[0]?.onRequestStart?.(second.played, null);
  expect(second.aborted).toHaveLength(1);
  expect(await outcome).toMatchObject({ kind: "Lost", timedOut: false });
});

test("the deadline passes while the request still waits → not sent, and aborted when it leaves the queue", async () => {
  const { dispatcher, handlers } = playedDispatcher();
  const clock = new FakeClock();
  const outcome = exchange(dispatcher, request, { ...limits, clock });
  await clock.advance(100);
  expect(await outcome).toMatchObject({ kind: "NotSent", timedOut: true });
  const late = controller();
  handlers[0]?.onRequestStart?.(late.played, null);
  expect(late.aborted).toHaveLength(1);
});

test("the deadline passes after sending → lost, and the connection is given up", async () => {
  const { dispatcher, handlers } = playedDispatcher();
  const clock = new FakeClock();
  const outcome = exchange(dispatcher, request, { ...limits, clock });
  const { aborted, played } = controller();
  handlers[0]?.onRequestStart?.(played, null);
  await clock.advance(100);
  expect(await outcome).toMatchObject({ kind: "Lost", timedOut: true });
  expect(aborted).toHaveLength(1);
});

test("an interim 1xx → not taken for the answer; no timer is left", async () => {
  const { dispatcher, handlers } = playedDispatcher();
  const clock = new FakeClock();
  const outcome = exchange(dispatcher, request, { ...limits, clock });
  const { played } = controller();
  handlers[0]?.onRequestStart?.(played, null);
  handlers[0]?.onResponseStart?.(played, 103, {});
  handlers[0]?.onResponseStart?.(played, 201, { "retry-after": ["7", "8"] });
  handlers[0]?.onResponseData?.(played, Buffer.from("{}"));
  handlers[0]?.onResponseEnd?.(played, {});
  expect(await outcome).toMatchObject({ kind: "Answered", status: 201, retryAfter: "7", bodyEnd: "Complete" });
  expect(clock.pendingTimers).toBe(0);
});

test("an interim 1xx and then a broken connection → no answer", async () => {
  const { dispatcher, handlers } = playedDispatcher();
  const outcome = exchange(dispatcher, request, { ...limits, clock: new FakeClock() });
  const { played } = controller();
  handlers[0]?.onRequestStart?.(played, null);
  handlers[0]?.onResponseStart?.(played, 103, {});
  handlers[0]?.onResponseError?.(played, new Error("closed"));
  expect(await outcome).toMatchObject({ kind: "Lost", timedOut: false });
});
