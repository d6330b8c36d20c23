/** Tests when windows and schedules are open, also when clocks change, and which values a schedule gives. */
import { describe, expect, test } from "vitest";
import { nextScheduleMs, scheduledSpec } from "../../../src/kinds/endpoint/desired-endpoint.ts";
import { begunMs, nextEdgeMs } from "../../../src/resource/recurrence.ts";
import { spec } from "../kinds/endpoint/builders.ts";

const berlin = (schedule: string, durationSeconds: number) => ({
  schedule,
  durationSeconds,
  timeZone: "Europe/Berlin",
});
const at = (time: string) => Date.parse(time);

describe("a window lasts for elapsed seconds", () => {
  test.each([
    ["its first moment", berlin("0 3 * * *", 900), "2026-06-01T01:00:00Z", true],
    ["its last millisecond", berlin("0 3 * * *", 900), "2026-06-01T01:14:59.999Z", true],
    ["its end", berlin("0 3 * * *", 900), "2026-06-01T01:15:00Z", false],
    ["just before its begin", berlin("0 3 * * *", 900), "2026-06-01T00:59:59.999Z", false],
    ["clocks go back: two hours after 01:30", berlin("30 1 * * *", 7200), "2026-10-25T01:29:59Z", true],
    ["clocks go back: its end", berlin("30 1 * * *", 7200), "2026-10-25T01:30:00Z", false],
    ["clocks go back: a begin that exists twice, the first", berlin("30 2 * * *", 900), "2026-10-25T00:35:00Z", true],
    ["clocks go back: a begin that exists twice, the second", berlin("30 2 * * *", 900), "2026-10-25T01:35:00Z", false],
    ["clocks go forward: an hour after 01:30", berlin("30 1 * * *", 3600), "2026-03-29T01:29:59Z", true],
    ["clocks go forward: its end", berlin("30 1 * * *", 3600), "2026-03-29T01:30:00Z", false],
    ["clocks go forward: no such begin → after the gap", berlin("30 2 * * *", 900), "2026-03-29T01:05:00Z", true],
    ["on another day of the week", berlin("0 3 * * 0", 900), "2026-06-01T01:05:00Z", false],
    ["over midnight", { schedule: "30 23 * * 5", durationSeconds: 3600 }, "2026-06-06T00:15:00Z", true],
  ])("%s", (_, window, time, isOpen) => {
    expect(begunMs(window, at(time)) !== undefined).toBe(isOpen);
  });
});

test.each([
  ["closed → its begin", berlin("0 3 * * *", 900), "2026-06-01T00:00:00Z", "2026-06-01T01:00:00.000Z"],
  ["open → its end", berlin("0 3 * * *", 900), "2026-06-01T01:05:00Z", "2026-06-01T01:15:00.000Z"],
  [
    "it begins again when it ends → that time",
    berlin("0 * * * *", 3600),
    "2026-06-01T09:30:00Z",
    "2026-06-01T10:00:00.000Z",
  ],
  ["always open → no edge", { schedule: "* * * * *", durationSeconds: 3600 }, "2026-06-01T09:30:00Z", undefined],
])("the next edge: %s", (_, window, time, edge) => {
  const edgeMs = nextEdgeMs(window, at(time));
  expect(edgeMs === undefined ? undefined : new Date(edgeMs).toISOString()).toBe(edge);
});

describe("schedules", () => {
  const [small, large] = [
    { minUnits: 0.25, maxUnits: 1 },
    { minUnits: 2, maxUnits: 4 },
  ];
  const own = spec({
    compute: small,
    suspend: { mode: "After", afterSeconds: 300 },
    schedules: [
      { name: "day", schedule: "0 8 * * *", durationSeconds: 36_000, suspend: { mode: "Never" } },
      { name: "peak", schedule: "0 12 * * *", durationSeconds: 3600, compute: large },
    ],
  });

  test.each([
    ["2026-06-01T07:00:00Z", undefined, small, "After", "2026-06-01T08:00:00.000Z"],
    ["2026-06-01T09:00:00Z", "day", small, "Never", "2026-06-01T12:00:00.000Z"],
    ["2026-06-01T12:30:00Z", "peak", large, "After", "2026-06-01T13:00:00.000Z"],
    ["2026-06-01T17:59:59Z", "day", small, "Never", "2026-06-01T18:00:00.000Z"],
  ])("%s → %s: what it does not set comes from spec, and the last one counts", (time, name, size, mode, edge) => {
    const { spec: wanted, active } = scheduledSpec(own, at(time));
    expect({ active, size: wanted.compute, mode: wanted.suspend?.mode }).toEqual({ active: name, size, mode });
    expect(new Date(nextScheduleMs(own, at(time))).toISOString()).toBe(edge);
  });
});
