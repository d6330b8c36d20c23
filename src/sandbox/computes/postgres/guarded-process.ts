/** Runs a server process that never outlives the sandbox. */
import { type ChildProcess, spawn } from "node:child_process";
import type { SystemUser } from "./system-user.ts";

/**
 * The text of a shell script that runs between the sandbox and a server. When its standard input ends, it sends the
 * server the signals that are its first argument, in their order. The input ends when the sandbox closes it or is
 * killed, so no server outlives the sandbox.
 */
const guard =
  'ends=$1; shift; exec 3<&0; "$@" </dev/null 3<&- & server=$!; exec >/dev/null 2>&1; read -r line <&3; ' +
  "for each in $ends; do kill -$each $server; done; wait $server";

/**
 * The signals that end a program. INT is a fast shutdown of PostgreSQL. But the shell starts its child with INT ignored, so
 * INT alone would be lost if it came before PostgreSQL has its own signal handlers. TERM ends the child at that time.
 */
const signals = { inOrder: "TERM INT", atOnce: "KILL" } as const;

/** The number of bytes that are kept of the process's last output. */
const keptBytes = 8_192;

/** The program to run. */
export interface GuardedCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly user: SystemUser;
  /** How the program is ended. @default "inOrder" */
  readonly ends?: keyof typeof signals;
}

/** A server process that always ends when the sandbox ends. */
export class GuardedProcess {
  readonly #shell: ChildProcess;
  #output = "";
  /** Resolves when the process and all its children have ended; never rejects. */
  readonly ended: Promise<void>;
  #hasEnded = false;
  #exitCode: number | null = null;

  constructor({ program, args, user: { uid, gid }, ends = "inOrder" }: GuardedCommand) {
    const identity = uid === undefined || gid === undefined ? {} : { uid, gid };
    this.#shell = spawn("/bin/sh", ["-c", guard, "sh", signals[ends], program, ...args], {
      ...identity,
      cwd: "/",
      // So Ctrl-C in a terminal reaches only the sandbox, and the sandbox stops its servers in order.
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" },
    });
    const keep = (bytes: Buffer): void => {
      this.#output = (this.#output + bytes.toString("utf8")).slice(-keptBytes);
    };
    this.#shell.stdout?.on("data", keep);
    this.#shell.stderr?.on("data", keep);
    // The output ends when every process that can write to it has ended. Either the server ended by itself, or the
    // shell's work is done.
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

  /** The exit code. `null`: the process has not ended, could not be started, or was killed. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  /** Asks the process to end. */
  stop(): void {
    this.#shell.stdin?.end();
  }

  /** Returns why the process ended: the last line of its output that names a reason. */
  lastWords(): string {
    const lines = this.#output.trim().split("\n");
    const reason = lines.findLast((line) => /FATAL|PANIC|ERROR|error:|could not/.test(line)) ?? lines.at(-1) ?? "";
    const text = reason.replace(/^.*?(FATAL|PANIC|ERROR|error): +/, "");
    if (text === "") return "it ended without a message";
    return text.includes("No space left on device") ? `${text}; free some space on the disk, then try again` : text;
  }
}
