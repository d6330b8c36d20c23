/** Tests that an unhandled error ends the process with a log line. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const source = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href);

/** Starts a process that ends like ours. Its code does not handle the error. */
function runWith(bug: string) {
  const program = `
    import { endOnUnhandledErrors } from ${source("runtime/shutdown.ts")};
    import { createPinoLogger } from ${source("telemetry/pino-logger.ts")};
    const logger = createPinoLogger({ level: "info" });
    endOnUnhandledErrors({ emitter: process, logger, exit: () => process.exit(1) });
    setInterval(() => logger.info({}, "still here"), 60_000);
    logger.info({}, "working");
    ${bug}
  `;
  return spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8", timeout: 60_000 });
}

test.each([
  ["an exception in a timer", "setTimeout(() => { throw new Error('a bug'); }, 1);", "uncaughtException"],
  ["a rejection that nothing awaits", "void Promise.reject(new Error('a bug'));", "unhandledRejection"],
])("%s → exit code 1, and the last line says why", (_, bug, event) => {
  const { status, stdout, stderr } = runWith(bug);
  expect({ status, stderr }).toEqual({ status: 1, stderr: "" });
  const lines = stdout.trim().split("\n");
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
    level: "error",
    message: "the process ends because of an unhandled error",
    event,
    err: { message: "a bug" },
  });
  expect(lines).toHaveLength(2);
});
