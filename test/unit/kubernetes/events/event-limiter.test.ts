import { expect, it } from "vitest";
import { createEventLimiter } from "../../../../src/kubernetes/events/event-pace.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

it("ten thousand other objects were spoken of since → the oldest starts with a full bucket", () => {
  const limiter = createEventLimiter({ clock: new FakeClock(), burst: 1 });
  expect([limiter.mayRecord("first"), limiter.mayRecord("first")]).toEqual([true, false]);
  for (let count = 0; count < 10_000; count += 1) limiter.mayRecord(`u${count}`);
  expect([limiter.mayRecord("u9999"), limiter.mayRecord("first")]).toEqual([false, true]);
});
