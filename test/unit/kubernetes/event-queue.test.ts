import { expect, it } from "vitest";
import { EventQueue } from "../../../src/kubernetes/event-queue.ts";

const news = (name: string) => ({ name, event: { type: "Normal" } }) as const;
const warning = (name: string) => ({ name, event: { type: "Warning" } }) as const;

function queueOf(capacity: number, ...items: readonly ReturnType<typeof news | typeof warning>[]) {
  const queue = new EventQueue<ReturnType<typeof news | typeof warning>>(capacity);
  const lost = items.map((item) => queue.join(item)?.name);
  return { queue, lost: lost.filter((name) => name !== undefined) };
}

it("an order → kept, warnings before all others", () => {
  const { queue } = queueOf(10, news("a"), warning("b"), news("c"), warning("d"));
  expect(queue.size).toBe(4);
  expect(Array.from({ length: 5 }, () => queue.takeNext()?.name)).toEqual(["b", "d", "a", "c", undefined]);
});

it("full → good news is lost, the newest first", () => {
  const { queue, lost } = queueOf(2, news("a"), news("b"), news("c"), warning("d"), warning("e"), news("f"));
  expect(lost).toEqual(["c", "b", "a", "f"]);
  expect(queue.clear().map(({ name }) => name)).toEqual(["d", "e"]);
  expect(queue.size).toBe(0);
});

it("full of warnings → the newest is lost", () => {
  expect(queueOf(2, warning("a"), warning("b"), warning("c")).lost).toEqual(["c"]);
});
