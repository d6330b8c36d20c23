/** Tests the rate of events. */
import { expect, it } from "vitest";
import { EventPace } from "../../../../src/kubernetes/events/event-queue.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

function start(isBusy?: () => boolean) {
  const clock = new FakeClock();
  const pace = new EventPace({ clock, burst: 3, perSecond: 2, isBusy });
  const takenAtMs: number[] = [];
  const take = async (count: number) => {
    for (let taken = 0; taken < count; taken += 1) {
      await pace.turn();
      takenAtMs.push(clock.monotonicMs());
    }
  };
  return { clock, pace, takenAtMs, take };
}

it("many events → the burst at once, then the rate", async () => {
  const { clock, takenAtMs, take } = start();
  const startMs = clock.monotonicMs();
  const taken = take(6);
  await clock.advance(2_000);
  await taken;
  expect(takenAtMs.map((ms) => ms - startMs)).toEqual([0, 0, 0, 500, 1_000, 1_500]);
});

it("a quiet time → at most the burst is saved up", async () => {
  const { clock, takenAtMs, take } = start();
  await take(3);
  await clock.advance(60_000);
  const sinceMs = clock.monotonicMs();
  const taken = take(4);
  await clock.advance(500);
  await taken;
  expect(takenAtMs.slice(3).map((ms) => ms - sinceMs)).toEqual([0, 0, 0, 500]);
});

it("much other work → one event a second; no other work → the usual rate", async () => {
  let isBusy = true;
  const { clock, takenAtMs, take } = start(() => isBusy);
  const startMs = clock.monotonicMs();
  const taken = take(5);
  await clock.advance(2_000);
  isBusy = false;
  await clock.advance(700);
  await taken;
  expect(takenAtMs.map((ms) => ms - startMs)).toEqual([1_000, 2_000, 2_100, 2_100, 2_500]);
});

it("the limit ends during much other work → every event goes on at once", async () => {
  const { clock, pace, takenAtMs, take } = start(() => true);
  const taken = take(5);
  await clock.advance(100);
  expect(takenAtMs).toHaveLength(0);
  pace.endLimit();
  await taken;
  expect(takenAtMs).toHaveLength(5);
});

it("the limit ends → every waiting event goes on, and none waits any more", async () => {
  const { clock, pace, takenAtMs, take } = start();
  const taken = take(10);
  await clock.advance(0);
  expect(takenAtMs).toHaveLength(3);
  pace.endLimit();
  await taken;
  expect(takenAtMs).toHaveLength(10);
  expect(clock.pendingTimers).toBe(0);
});
