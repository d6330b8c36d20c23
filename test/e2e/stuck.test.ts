/** Tests that a stuck operator fails its liveness probe. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { OperatorProcess } from "../support/e2e-operator.ts";
import { preloadedOperator } from "../support/e2e-program.ts";
import { SandboxProcess } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { waitUntil } from "../support/wait-until.ts";

/** The probe settings of the shipped Deployment. */
const probeTimeoutMs = 5_000;

let sandbox: SandboxProcess;
beforeAll(async () => {
  sandbox = await SandboxProcess.start();
});
afterAll(() => sandbox?.stop());

/** Starts a world whose operator misbehaves on SIGUSR2. */
async function startMisbehaving(how: "Loop" | "Reject" | "Throw") {
  const world = await E2eWorld.start(sandbox);
  const operator = await world.startOperator({ MISBEHAVE: how }, preloadedOperator("e2e-misbehave.ts"));
  return { world, operator };
}

/** Returns the status of the answer to the kubelet's probe. */
async function livez(operator: OperatorProcess): Promise<number> {
  return (await operator.probe("/livez")).status;
}

/** Returns what the kubelet concludes from a probe of an operator that is stuck. */
async function livezOfStuck(operator: OperatorProcess): Promise<"NoAnswer" | number> {
  const answer = livez(operator);
  answer.catch(() => {});
  const { promise: timeout, resolve } = Promise.withResolvers<"NoAnswer">();
  const timer = setTimeout(resolve, probeTimeoutMs, "NoAnswer");
  const seen = await Promise.race([answer, timeout]);
  clearTimeout(timer);
  return seen;
}

/** Kills the operator at the end of the test. The world asks it to stop, but this operator does not react. */
function endForSure(operator: OperatorProcess): void {
  if (operator.exit === undefined) process.kill(operator.pid, "SIGKILL");
}

test("the event loop never turns again → /livez does not answer, and SIGKILL is what ends it", async () => {
  const { world, operator } = await startMisbehaving("Loop");
  expect(await livez(operator)).toBe(200);
  onTestFinished(() => endForSure(operator));
  process.kill(operator.pid, "SIGUSR2");
  await waitUntil(() => operator.output().includes("stuck from now on") || undefined, { what: "it is stuck" });
  expect(await livezOfStuck(operator)).toBe("NoAnswer");
  endForSure(operator);
  expect(await operator.exited).toEqual({ code: null, signal: "SIGKILL" });
  // Does what the kubelet does next.
  const project = sandbox.takeProject();
  await world.startOperator();
  await world.apply("orders", project, { type: "ReadWrite" });
  await world.untilReady("orders");
});

test.each([
  ["Reject", "unhandledRejection"],
  ["Throw", "uncaughtException"],
] as const)("an unhandled error (%s) → exit code 1, the last line says why, without the key", async (how, event) => {
  const { operator } = await startMisbehaving(how);
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
