import { expect, test } from "vitest";
import { pollDelayMs } from "../../../src/plan/poll-delay.ts";

test.each([
  { name: "just begun → soon", ageMs: 0, want: 250 },
  { name: "two seconds old → in a second", ageMs: 2_000, want: 1_000 },
  { name: "old → as the setting says", ageMs: 600_000, want: 5_000 },
  { name: "begun in our future, by a clock that is ahead → as rarely as an old one", ageMs: -3_600_000, want: 5_000 },
])("$name", ({ ageMs, want }) => {
  expect(pollDelayMs(ageMs, { operationPollMs: 5_000 })).toBe(want);
});
