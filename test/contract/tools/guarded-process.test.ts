/** Tests that a child process never outlives its parent. */
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { startGuardedProcess } from "../../../tools/process/guarded-process.ts";
import { isAlive, waitUntilGone } from "../../support/processes.ts";

const module = fileURLToPath(new URL("../../../tools/process/guarded-process.ts", import.meta.url));

async function readAll(stream: AsyncIterable<unknown> | null): Promise<string> {
  let text = "";
  for await (const chunk of stream ?? []) text += String(chunk);
  return text;
}

describe("startGuardedProcess", () => {
  it("a command that ends → its output and its code", async () => {
    const child = await startGuardedProcess({ command: "sh", args: ["-c", "echo out; echo err >&2; exit 3"] });
    const [out, err, exit] = await Promise.all([readAll(child.stdout), readAll(child.stderr), child.exited]);
    expect([out, err, exit]).toEqual(["out\n", "err\n", { code: 3, signal: null }]);
    expect(child.kill("SIGTERM")).toBe(false);
  });

  it("a command that does not exist → an error that names it", async () => {
    await expect(startGuardedProcess({ command: "/no/such/command", args: [] })).rejects.toThrow(
      "Cannot start /no/such/command",
    );
  });

  it("stop → SIGTERM, and gone when it answers", async () => {
    const child = await startGuardedProcess({ command: "sleep", args: ["600"] });
    expect(await child.stop()).toEqual({ code: null, signal: "SIGTERM" });
    expect(isAlive(child.pid)).toBe(false);
    expect(await child.stop()).toEqual({ code: null, signal: "SIGTERM" });
  });

  it("stop of one that ignores SIGTERM → SIGKILL after the grace time", async () => {
    const script = "trap '' TERM; echo ready; while true; do sleep 0.05; done";
    const child = await startGuardedProcess({ command: "sh", args: ["-c", script], graceMs: 100 });
    await new Promise((resolve) => child.stdout?.once("data", resolve));
    expect(await child.stop()).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("kill → the end of the command is reported", async () => {
    const child = await startGuardedProcess({ command: "sleep", args: ["600"] });
    expect(child.kill("SIGKILL")).toBe(true);
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  it.each(["SIGKILL", "SIGTERM"])(
    "its parent process ends by %s → the command and its children end too",
    async (signal) => {
      const script = `
      const { startGuardedProcess } = await import(${JSON.stringify(module)});
      const child = await startGuardedProcess({ command: "sh", args: ["-c", "sleep 600 & echo $!; wait"] });
      child.stdout.once("data", (line) => {
        console.log(JSON.stringify([child.pid, Number(line)]));
        process.kill(process.pid, "${signal}");
      });
    `;
      const parent = await startGuardedProcess({
        command: process.execPath,
        args: ["--input-type=module", "-e", script],
      });
      parent.stderr?.resume();
      const pids = JSON.parse(await readAll(parent.stdout)) as number[];
      expect((await parent.exited).signal).toBe(signal);
      expect(pids).toHaveLength(2);
      for (const pid of pids) await waitUntilGone(pid);
    },
  );
});
