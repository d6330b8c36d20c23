/** Tests that an operator with an unhandled error ends, and says why. */
import { expect, onTestFinished, test } from "vitest";
import { preloadedOperator } from "../support/e2e-program.ts";
import { SandboxProcess } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";

test.each([
  ["Reject", "unhandledRejection"],
  ["Throw", "uncaughtException"],
] as const)("an unhandled error (%s) → exit code 1, the last line says why, without the key", async (how, event) => {
  const sandbox = await SandboxProcess.start();
  onTestFinished(() => sandbox.stop());
  const world = await E2eWorld.start(sandbox);
  const operator = await world.startOperator({ MISBEHAVE: how }, preloadedOperator("e2e-misbehave.ts"));
  process.kill(operator.pid, "SIGUSR2");
  expect(await operator.exited).toEqual({ code: 1, signal: null });
  const lastLine = operator.output().trim().split("\n").at(-1) ?? "";
  expect(JSON.parse(lastLine)).toMatchObject({
    level: "error",
    message: "the process ends because of an unhandled error",
    event,
    err: { message: "a bug that says [redacted]" },
  });
});
