/** Tests the memory of sent events. */
import { expect, it } from "vitest";
import { EventMemory } from "../../../../src/kubernetes/events/event-memory.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const sent = { name: "orders.1", firstMs: 5, count: 1 };

function start(options: { readonly capacity?: number } = {}) {
  const clock = new FakeClock();
  return { clock, memory: new EventMemory({ clock, forMs: 90_000, capacity: options.capacity ?? 10 }) };
}

it("sent → known until its time is over", async () => {
  const { clock, memory } = start();
  memory.remember("a", sent);
  await clock.advance(89_999);
  expect(memory.recall("a")).toMatchObject(sent);
  expect(memory.recall("b")).toBeUndefined();
  await clock.advance(1);
  expect(memory.recall("a")).toBeUndefined();
});

it("sent again → known for as long from then on", async () => {
  const { clock, memory } = start();
  memory.remember("a", sent);
  await clock.advance(80_000);
  memory.remember("a", { ...sent, count: 2 });
  await clock.advance(80_000);
  expect(memory.recall("a")).toMatchObject({ count: 2 });
});

it("nothing is sent any more → nothing is held, and no timer is set", async () => {
  const { clock, memory } = start();
  memory.remember("a", sent);
  await clock.advance(50_000);
  memory.remember("b", sent);
  // The timer runs as long as an event is remembered: here `b`, after `a` is forgotten.
  await clock.advance(75_000);
  expect([memory.recall("b"), clock.pendingTimers]).toMatchObject([sent, 1]);
  await clock.advance(60_000);
  expect(clock.pendingTimers).toBe(0);
  memory.remember("c", sent);
  expect(clock.pendingTimers).toBe(1);
});

it("more than fit → what was sent longest ago is forgotten", () => {
  const { memory } = start({ capacity: 2 });
  for (const id of ["a", "b", "a", "c"]) memory.remember(id, sent);
  expect(["a", "b", "c"].filter((id) => memory.recall(id) !== undefined)).toEqual(["a", "c"]);
});

it("a pause → no timer until something is remembered again, and nothing is forgotten by it", () => {
  const { clock, memory } = start();
  memory.remember("a", sent);
  memory.pause();
  expect([memory.recall("a"), clock.pendingTimers]).toMatchObject([sent, 0]);
  memory.remember("b", sent);
  expect(clock.pendingTimers).toBe(1);
});
