/** Tests how a process gets low priority. */
import { existsSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { startGuardedProcess } from "../../../tools/process/guarded-process.ts";
import { giveWay } from "../../../tools/test/give-way.ts";

const sleeper = { command: process.execPath, args: ["-e", "setTimeout(() => {}, 60_000)"] };

test("a process of a session of its own gives way → both the process and its session have low priority", async () => {
  const { pid, stop } = await startGuardedProcess({ ...sleeper, output: "inherit" });
  onTestFinished(() => void stop());
  giveWay(pid);
  expect(getPriority(pid)).toBe(19);
  const file = `/proc/${pid}/autogroup`;
  if (existsSync(file)) expect(readFileSync(file, "utf8")).toMatch(/ nice 19$/m);
});

test("a process that has ended gives way → nothing happens", async () => {
  const { pid, stop } = await startGuardedProcess({ ...sleeper, output: "inherit" });
  await stop();
  expect(() => giveWay(pid)).not.toThrow();
});
