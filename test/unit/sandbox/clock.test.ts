/** Tests the sandbox's clock. */
import { expect, test } from "vitest";
import { endOfTimeMs, SandboxClock } from "../../../src/sandbox/engine/clock.ts";

function clockOn(wall: { ms: number }): SandboxClock {
  return new SandboxClock(() => wall.ms);
}

test("real → as the wall; scaled → that many times as fast, from where it was; stepped → stands", () => {
  const wall = { ms: 1000 };
  const clock = clockOn(wall);
  wall.ms = 1500;
  expect(clock.nowMs()).toBe(1500);
  clock.set({ mode: "scaled", scale: 60 });
  wall.ms = 1600;
  expect(clock.nowMs()).toBe(1500 + 6000);
  clock.set({ mode: "stepped" });
  wall.ms = 9999;
  expect(clock.nowMs()).toBe(7500);
  clock.advance(250);
  expect(clock.state()).toEqual({ mode: "stepped", scale: 0, nowMs: 7750 });
  clock.set({ mode: "real" });
  wall.ms = 10_000;
  expect(clock.nowMs()).toBe(7751);
});

test("a clock that runs between two looks → set does not mistake it for going back", () => {
  let ms = 0;
  const clock = new SandboxClock(() => {
    ms += 1;
    return ms;
  });
  expect(() => clock.set({ mode: "stepped" })).not.toThrow();
});

test("wall delay → in the machine's milliseconds, none for a stepped clock", () => {
  const wall = { ms: 0 };
  const clock = clockOn(wall);
  expect(clock.wallDelayMs(600)).toBe(600);
  clock.set({ mode: "scaled", scale: 60 });
  expect(clock.wallDelayMs(600)).toBe(10);
  expect(clock.wallDelayMs(-5)).toBe(0);
  clock.set({ mode: "stepped" });
  expect(clock.wallDelayMs(600)).toBeUndefined();
});

test("a time that has been already, on a clock that runs between two looks → goes on; a later one → from there", () => {
  let ms = 0;
  const clock = new SandboxClock(() => {
    ms += 1;
    return ms;
  });
  const before = clock.nowMs();
  clock.advanceTo(before);
  expect(clock.nowMs()).toBeGreaterThan(before);
  clock.advanceTo(5000);
  expect(clock.nowMs()).toBeGreaterThan(5000);
});

test("the end of time → stands there, by itself and resumed; beyond it → refused, and nothing is due", () => {
  const wall = { ms: endOfTimeMs - 1 };
  const clock = clockOn(wall);
  expect(() => clock.advance(2)).toThrow("the clock ends");
  expect(() => clock.set({ nowMs: endOfTimeMs + 1 })).toThrow("the clock ends");
  clock.set({ mode: "scaled", scale: 1000 });
  wall.ms += 60_000;
  expect(clock.nowMs()).toBe(endOfTimeMs);
  expect(clock.wallDelayMs(endOfTimeMs + 50)).toBeUndefined();
  const later = clockOn(wall);
  later.resume({ mode: "scaled", scale: 1000, sandboxMs: endOfTimeMs - 1, wallMs: 0 }, 0);
  expect(later.nowMs()).toBe(endOfTimeMs);
  expect(() => later.set({ mode: "stepped" })).not.toThrow();
});

test.each([
  { wallMs: 1500, notBeforeMs: 0, wantMs: 10_000 + 500 * 2, what: "off for a while → as if it had run" },
  { wallMs: 400, notBeforeMs: 0, wantMs: 10_000, what: "the machine's clock was set back → from the anchor" },
  { wallMs: 400, notBeforeMs: 12_000, wantMs: 12_000, what: "set back, and something was later → from that" },
])("resumed, $what", ({ wallMs, notBeforeMs, wantMs }) => {
  const clock = clockOn({ ms: wallMs });
  clock.resume({ mode: "scaled", scale: 2, sandboxMs: 10_000, wallMs: 1000 }, notBeforeMs);
  expect(clock.state()).toEqual({ mode: "scaled", scale: 2, nowMs: wantMs });
});
