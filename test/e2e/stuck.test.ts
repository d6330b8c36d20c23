/** Tests that a stuck operator fails its liveness probe. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { OperatorProcess } from "../support/e2e-operator.ts";
import { bundledProgram } from "../support/e2e-program.ts";
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
  const { command, args } = bundledProgram("run");
  const preload = fileURLToPath(new URL("../support/e2e-misbehave.ts", import.meta.url));
  const operator = await world.startOperator({ MISBEHAVE: how }, { command, args: ["--import", preload, ...args] });
  return { world, operator };
}

/** Returns what the kubelet concludes from a probe. */
async function livez(operator: OperatorProcess, timeoutMs = probeTimeoutMs): Promise<"Alive" | "NoAnswer" | number> {
  const answer = operator.probe("/livez").then(({ status }) => (status === 200 ? "Alive" : status));
  answer.catch(() => {});
  const { promise: timeout, resolve } = Promise.withResolvers<"NoAnswer">();
  const timer = setTimeout(resolve, timeoutMs, "NoAnswer");
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
  expect(await livez(operator)).toBe("Alive");
  onTestFinished(() => endForSure(operator));
  process.kill(operator.pid, "SIGUSR2");
  await waitUntil(() => operator.output().includes("stuck from now on") || undefined, { what: "it is stuck" });
  expect(await livez(operator)).toBe("NoAnswer");
  endForSure(operator);
  expect(await operator.exited).toEqual({ code: null, signal: "SIGKILL" });
  // Does what the kubelet does next.
  const project = sandbox.takeProject();
  await world.startOperator();
  await world.apply("orders", project, { type: "ReadWrite" });
  await world.untilReady("orders");
});

test("the process is paused and goes on → /livez does not answer, then it does: a pause alone is not stuck", async () => {
  const world = await E2eWorld.start(sandbox);
  const operator = await world.startOperator();
  onTestFinished(() => endForSure(operator));
  process.kill(operator.pid, "SIGSTOP");
  expect(await livez(operator, 1_000)).toBe("NoAnswer");
  process.kill(operator.pid, "SIGCONT");
  expect(await livez(operator)).toBe("Alive");
  expect((await operator.probe("/readyz")).status).toBe(200);
  const project = sandbox.takeProject();
  await world.apply("orders", project, { type: "ReadWrite" });
  await world.untilReady("orders");
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
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
