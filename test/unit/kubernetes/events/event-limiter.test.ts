/** Tests the rate limit for events about one object. */
import { expect, it } from "vitest";
import { createEventLimiter } from "../../../../src/kubernetes/events/event-queue.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

it("ten thousand other objects were spoken of since → the oldest starts with a full bucket", () => {
  const mayRecord = createEventLimiter({ clock: new FakeClock(), burst: 1 });
  expect([mayRecord("first"), mayRecord("first")]).toEqual([true, false]);
  for (let count = 0; count < 10_000; count += 1) mayRecord(`u${count}`);
  expect([mayRecord("u9999"), mayRecord("first")]).toEqual([false, true]);
});
