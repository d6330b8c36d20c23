/** Tests the end of the queue of the computes' work. */
import { expect, test } from "vitest";
import { KeyedQueue } from "../../../../src/sandbox/computes/keyed-queue.ts";

/** Notes how a promise settles. */
function watched(promise: Promise<unknown>): { readonly results: readonly unknown[] } {
  const results: unknown[] = [];
  promise.then(
    (value) => results.push(value),
    (error: unknown) => results.push(error),
  );
  return { results };
}

test("closed while one piece of work runs and one waits → it waits for the first; the second and later ones never begin", async () => {
  const queue = new KeyedQueue();
  const first = Promise.withResolvers<string>();
  const begun: string[] = [];
  const begin = (name: string) => async () => void begun.push(name);
  const running = watched(queue.run(["a"], () => first.promise));
  const waiting = watched(queue.run(["a"], begin("waiting")));
  await new Promise(setImmediate);
  const closed = watched(queue.close().then(() => "closed"));
  await new Promise(setImmediate);
  expect(closed.results).toEqual([]);
  first.resolve("done");
  await new Promise(setImmediate);
  const late = watched(queue.run(["b"], begin("late")));
  await new Promise(setImmediate);
  expect([running.results, closed.results]).toEqual([["done"], ["closed"]]);
  expect([waiting.results, late.results, begun]).toEqual([[], [], []]);
});

test("work that fails while the queue is closed → its caller hears nothing", async () => {
  const queue = new KeyedQueue();
  const work = Promise.withResolvers<void>();
  const running = watched(queue.run(["a"], () => work.promise));
  await new Promise(setImmediate);
  const closed = queue.close();
  work.reject(new Error("its server was ended"));
  await closed;
  await new Promise(setImmediate);
  expect(running.results).toEqual([]);
});
