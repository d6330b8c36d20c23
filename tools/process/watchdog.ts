// Runs one command, and ends it when standard input ends, because the process that started the watchdog is then gone.
// Usage: watchdog.ts GRACE_MS COMMAND [ARG...]; reports go to file descriptor 3, one JSON object a line.
import { spawn } from "node:child_process";
import { writeSync } from "node:fs";

const [graceText, command, ...args] = process.argv.slice(2);
const graceMs = Number(graceText);

function report(message: object): void {
  try {
    writeSync(3, `${JSON.stringify(message)}\n`);
  } catch {
    // The process that started this one has ended, so no program reads the output.
  }
}

if (command === undefined || !Number.isFinite(graceMs)) {
  report({ kind: "failed", message: "usage: watchdog.ts GRACE_MS COMMAND [ARG...]" });
  process.exit(2);
}

// With a process group of its own, everything that the command starts ends with it.
const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit"], detached: true });

function signalGroup(signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has ended already.
  }
}

let isEnding = false;
function endChild(): void {
  if (isEnding) return;
  isEnding = true;
  signalGroup("SIGTERM");
  setTimeout(() => signalGroup("SIGKILL"), graceMs).unref();
}

child.on("spawn", () => report({ kind: "started", pid: child.pid }));
child.on("error", (error) => {
  if (child.pid !== undefined) return;
  report({ kind: "failed", message: error.message });
  process.exit(1);
});
child.on("exit", (code, signal) => {
  // Processes that the command has left in its group end too.
  signalGroup("SIGKILL");
  report({ kind: "ended", code, signal });
  process.exit(code ?? 1);
});

process.stdin.on("end", endChild);
process.stdin.on("error", endChild);
process.stdin.on("close", endChild);
process.stdin.resume();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, endChild);
