/** Tests the order of waiting events. */
import { expect, it } from "vitest";
import { EventQueue, type QueuedEvent } from "../../../../src/kubernetes/events/event-queue.ts";

const news = (id: string): QueuedEvent => ({ id, event: { type: "Normal" } });
const warning = (id: string): QueuedEvent => ({ id, event: { type: "Warning" } });
const ahead = (id: string): QueuedEvent => ({ id, event: { type: "Warning", isAhead: true } });

function queueOf(capacity: number, ...items: readonly QueuedEvent[]) {
  const queue = new EventQueue<QueuedEvent>(capacity);
  const lost = items.map((item) => queue.join(item)?.id);
  return { queue, lost: lost.filter((id) => id !== undefined) };
}

it("an order → kept within a rank: events reported ahead of a change, warnings, all others", () => {
  const { queue } = queueOf(10, news("a"), warning("b"), ahead("c"), news("d"), warning("e"), ahead("f"));
  expect(queue.size).toBe(6);
  const taken = Array.from({ length: 7 }, () => [queue.isNextAhead, queue.takeNext()?.id]);
  expect(taken.map(([, id]) => id)).toEqual(["c", "f", "b", "e", "a", "d", undefined]);
  expect(taken.map(([isAhead]) => isAhead)).toEqual([true, true, false, false, false, false, false]);
  expect(queue.size).toBe(0);
});

it("full → good news is lost, the newest first", () => {
  const { queue, lost } = queueOf(2, news("a"), news("b"), news("c"), warning("d"), warning("e"), news("f"));
  expect(lost).toEqual(["c", "b", "a", "f"]);
  expect(queue.clear().map(({ id }) => id)).toEqual(["d", "e"]);
  expect(queue.size).toBe(0);
});

it("full of warnings → the newest is lost", () => {
  expect(queueOf(2, warning("a"), warning("b"), warning("c")).lost).toEqual(["c"]);
});

it("full, and an event is reported ahead of a change → good news is lost, then warnings, never an earlier event of this kind", () => {
  const { queue, lost } = queueOf(3, warning("a"), warning("b"), news("c"), ahead("d"), ahead("e"), ahead("f"));
  expect(lost).toEqual(["c", "b", "a"]);
  expect([ahead("g"), warning("h"), news("i")].map((item) => queue.join(item)?.id)).toEqual(["g", "h", "i"]);
  expect(queue.clear().map(({ id }) => id)).toEqual(["d", "e", "f"]);
});

it("what waits → found by its id; what was taken or lost → not", () => {
  const { queue } = queueOf(3, warning("a"), warning("b"), news("c"), warning("d"), news("e"));
  const found = () => ["a", "b", "c", "d", "e"].filter((id) => queue.find(id)?.id === id);
  expect(found()).toEqual(["a", "b", "d"]);
  queue.takeNext();
  expect(found()).toEqual(["b", "d"]);
  queue.clear();
  expect(found()).toEqual([]);
});
