/** Tests the record of how the sandbox's clock ran. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import {
  ClockRecord,
  type ClockSpan,
  sandboxTimeOf,
  wallTimeOf,
} from "../../../src/sandbox/computes/history/clock-record.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/**
 * The clock runs like the machine's from 1000 on, jumps by 100 at 2000, stands still from 3000 on, and runs twice as
 * fast from 4000 on.
 */
const spans: readonly ClockSpan[] = [
  { wallMs: 1000, sandboxMs: 1000, rate: 1 },
  { wallMs: 2000, sandboxMs: 2100, rate: 1 },
  { wallMs: 3000, sandboxMs: 3100, rate: 0 },
  { wallMs: 4000, sandboxMs: 3100, rate: 2 },
];

test.each([
  ["before the first span", 999, undefined],
  ["in step", 1500, 1500.999],
  ["within a jump → the moment of the jump", 2050, 2000],
  ["after the jump", 2600, 2500.999],
  ["where the clock stood → until it went on", 3099, 2999.999],
  ["twice as fast", 3200, 4050.4995],
])("the machine's time, %s", (_name, timeMs, wallMs) => {
  const found = wallTimeOf(spans, timeMs);
  if (wallMs === undefined) expect(found).toBeUndefined();
  else expect(found).toBeCloseTo(wallMs, 3);
});

test("a clock that stands now → its time has no end yet", () => {
  expect(wallTimeOf(spans.slice(0, 3), 3100)).toBe(Number.POSITIVE_INFINITY);
});

test.each([
  ["before the first span → its beginning", 500, 1000],
  ["in step", 1500, 1500],
  ["while it stood", 3500, 3100],
  ["twice as fast", 4050, 3200],
])("the sandbox's time, %s", (_name, wallMs, timeMs) => {
  expect(sandboxTimeOf(spans, wallMs)).toBe(timeMs);
});

test("a record on disk → the next process has it, without a line that a crash cut off; at most 1,000 changes", async () => {
  const folder = temporaryFolder("clock-record");
  const file = path.join(folder, "clock");
  const anchor = (sandboxMs: number) => ({ mode: "stepped", scale: 1, sandboxMs, wallMs: 0 }) as const;
  const first = new ClockRecord();
  first.note(anchor(1));
  await first.open(file);
  first.note(anchor(2));
  writeFileSync(file, `${readFileSync(file, "utf8")}{"wallMs":1,`);
  const second = new ClockRecord();
  second.note(anchor(3));
  await second.open(file);
  expect(second.spans.map(({ sandboxMs }) => sandboxMs)).toEqual([1, 2, 3]);
  for (let count = 0; count < 1_000; count++) second.note(anchor(4 + count));
  expect(second.spans).toHaveLength(1_000);
  expect(second.spans[0]?.sandboxMs).toBe(4);
});
