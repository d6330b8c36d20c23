/** Runs the sandbox's command inside a test. */
import { onTestFinished } from "vitest";
import { runSandboxCommand } from "../../../src/sandbox/index.ts";

/** A sandbox that was started by its command. */
export interface SandboxRun {
  /** The exit code, when the command has ended. */
  readonly code: Promise<number>;
  /** The output so far. */
  readonly written: { out: string; err: string };
  readonly stop: () => void;
}

/** Runs `endpoint-operator sandbox` in this process and keeps what it writes. It stops when the test ends. */
export function runCommand(args: readonly string[]): SandboxRun {
  const stop = new AbortController();
  const written = { out: "", err: "" };
  const code = runSandboxCommand(args, {
    out: { write: (text) => (written.out += text) },
    err: { write: (text) => (written.err += text) },
    stop: stop.signal,
  });
  onTestFinished(async () => {
    stop.abort();
    await code;
  });
  return { code, written, stop: () => stop.abort() };
}
