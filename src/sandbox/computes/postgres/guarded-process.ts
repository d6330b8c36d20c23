/** Runs a server process that always ends when the sandbox ends, even if the sandbox is killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, renameSync, statSync } from "node:fs";
import type { SystemUser } from "./system-user.ts";

/**
 * A shell script that starts the server as its child. Its first argument is a list of signals. When the script's
 * standard input ends, the script sends these signals to the server in their order. The input ends when the sandbox
 * closes the input or is killed.
 */
const guard =
  'ends=$1; shift; exec 3<&0; "$@" </dev/null 3<&- & server=$!; exec >/dev/null 2>&1; read -r line <&3; ' +
  "for each in $ends; do kill -$each $server; done; wait $server";

/**
 * The signals that end a program. "inOrder" sends both, TERM first. INT is PostgreSQL's fast shutdown, but a child of the
 * shell ignores INT until PostgreSQL has set its signal handlers. A child that has not set them yet is ended by TERM.
 */
const signals = { inOrder: "TERM INT", atOnce: "KILL" } as const;

const longestLogBytes = 4 * 1024 * 1024;

/** The number of characters that are kept of the last output. */
const keptBytes = 8_192;

/** The program to run, as a child of the shell script. */
export interface GuardedCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly user: SystemUser;
  /** The file to which the program's output is added; `undefined`: it is kept in memory only. */
  readonly logFile?: string | undefined;
  /** Which signals end the program. `atOnce` is KILL. @default "inOrder" */
  readonly ends?: keyof typeof signals;
}

/** A running server process, and its last output. */
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
      // A process group of its own: Ctrl-C in a terminal reaches only the sandbox, which then stops its servers in
      // order.
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
    // The output ends when the server and its children have ended. Then the script must end too, so its input is
    // closed.
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

  /** The exit code; `null`: the process has not ended, was not started, or was killed. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  /** Asks the process to end, by the signals in `ends`. */
  stop(): void {
    this.#shell.stdin?.end();
  }

  /** Returns why the process ended: the last output line with an error, without its prefix, or else the last line. */
  lastWords(): string {
    const lines = this.#output.trim().split("\n");
    const reason = lines.findLast(isReason) ?? lines.at(-1) ?? "";
    const text = reason.replace(/^.*?(FATAL|PANIC|ERROR|error): +/, "");
    if (text === "") return "it ended without a message";
    return text.includes("No space left on device") ? `${text}; free some space on the disk, then try again` : text;
  }
}

/** Adds output to a log. A log that has become too long is moved aside, in place of the one before it. */
function addTo(logFile: string, bytes: Buffer): void {
  try {
    if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > longestLogBytes)
      renameSync(logFile, `${logFile}.1`);
    appendFileSync(logFile, bytes, { mode: 0o600 });
  } catch {
    // The disk may be full, or the sandbox's folder may be gone. A server runs on without its log.
  }
}

/**
 * Whether a line of the output may say why the process ended. PostgreSQL also writes a FATAL for each client that
 * connects before the server is ready, and such a line can come after the true reason.
 */
function isReason(line: string): boolean {
  return /FATAL|PANIC|ERROR|error:|could not/.test(line) && !/FATAL: +the database system is /.test(line);
}
