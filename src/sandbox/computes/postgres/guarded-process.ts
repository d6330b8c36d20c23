/** Runs a server process that always ends when the sandbox ends, even if the sandbox is killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, renameSync, statSync } from "node:fs";
import type { SystemUser } from "./system-user.ts";

/** When the script's standard input ends, also by a kill of the sandbox, it sends the signals to the server. */
const guard =
  'ends=$1; shift; exec 3<&0; "$@" </dev/null 3<&- & server=$!; exec >/dev/null 2>&1; read -r line <&3; ' +
  "for each in $ends; do kill -$each $server; done; wait $server";

/** TERM comes first: a child ignores INT (PostgreSQL's fast shutdown) until it has set its handlers. */
const signals = { inOrder: "TERM INT", atOnce: "KILL" } as const;

const longestLogBytes = 4 * 1024 * 1024;

const keptBytes = 8_192;

export interface GuardedCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly user: SystemUser;
  /** `undefined`: the output is kept in memory only. */
  readonly logFile?: string | undefined;
  /** Which signals end the program. `atOnce` is KILL. @default "inOrder" */
  readonly ends?: keyof typeof signals;
}

export class GuardedProcess {
  readonly #shell: ChildProcess;
  #output = "";
  /** Resolves when the process and all its children have ended; never rejects. */
  readonly ended: Promise<void>;
  #hasEnded = false;
  #exitCode: number | null = null;

  constructor({ program, args, user: { uid, gid }, logFile, ends = "inOrder" }: GuardedCommand) {
    const identity = uid === undefined || gid === undefined ? {} : { uid, gid };
    this.#shell = spawn("/bin/sh", ["-c", guard, "sh", signals[ends], program, ...args], {
      ...identity,
      cwd: "/",
      // Ctrl-C in a terminal then reaches only the sandbox, which stops its servers in order.
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" },
    });
    const keep = (bytes: Buffer): void => {
      this.#output = (this.#output + bytes.toString("utf8")).slice(-keptBytes);
      if (logFile !== undefined) addTo(logFile, bytes);
    };
    this.#shell.stdout?.on("data", keep);
    this.#shell.stderr?.on("data", keep);
    // The output ends when the server and its children have ended. Then the script must end too.
    this.#shell.stderr?.on("end", () => this.#shell.stdin?.end());
    this.#shell.stdin?.on("error", () => {});
    this.ended = new Promise((resolve) => {
      const end = (code: number | null): void => {
        this.#hasEnded = true;
        this.#exitCode = code;
        resolve();
      };
      this.#shell.on("close", end);
      this.#shell.on("error", (error) => {
        keep(Buffer.from(error.message));
        end(null);
      });
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** `null`: the process has not ended, was not started, or was killed. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  stop(): void {
    this.#shell.stdin?.end();
  }

  /** The last output line with an error, without its prefix, or else the last line. */
  lastWords(): string {
    const lines = this.#output.trim().split("\n");
    const reason = lines.findLast(isReason) ?? lines.at(-1) ?? "";
    const text = reason.replace(/^.*?(FATAL|PANIC|ERROR|error): +/, "");
    if (text === "") return "it ended without a message";
    return text.includes("No space left on device") ? `${text}; free some space on the disk, then try again` : text;
  }
}

/** A log that has become too long is moved aside, in place of the one before it. */
function addTo(logFile: string, bytes: Buffer): void {
  try {
    if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > longestLogBytes)
      renameSync(logFile, `${logFile}.1`);
    appendFileSync(logFile, bytes, { mode: 0o600 });
  } catch {
    // The disk may be full, or the sandbox's folder may be gone. A server runs on without its log.
  }
}

/** A FATAL for a client that connects before the server is ready can come after the true reason. */
function isReason(line: string): boolean {
  return /FATAL|PANIC|ERROR|error:|could not/.test(line) && !/FATAL: +the database system is /.test(line);
}
