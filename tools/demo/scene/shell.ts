/** Runs commands of a shell as a person would type them, and shows them with their output. */
import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { defaultTimeoutMs, waitUntil } from "../../process/wait-until.ts";
import { repositoryRoot } from "./names.ts";
import type { Terminal } from "./terminal.ts";

/** A shell in the root of the repository. What it shows is exactly what it runs. */
export class Shell {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  /** The assignments of its variables, for another terminal. */
  readonly assignments: string[] = [];
  readonly #env: NodeJS.ProcessEnv;

  /** @param env its variables; those of the user's own kubectl must not be among them */
  constructor(terminal: Terminal, signal: AbortSignal, env: NodeJS.ProcessEnv) {
    this.terminal = terminal;
    this.signal = signal;
    this.#env = env;
  }

  say(text: string): void {
    this.terminal.say(text);
  }

  /** Shows the assignment of a variable for later commands. @param shown what stands in place of a secret */
  set(name: string, value: string, shown = value): void {
    this.terminal.command(`${name}=${shown}`);
    this.assignments.push(`${name}=${shown}`);
    this.#env[name] = value;
  }

  /** Runs a command without showing it. @returns standard output. @throws Error when it fails or takes too long */
  async quiet(command: string): Promise<string> {
    this.signal.throwIfAborted();
    const limits = { timeout: defaultTimeoutMs, signal: this.signal, maxBuffer: 2 ** 28 };
    return (await promisify(execFile)("sh", ["-c", command], { cwd: repositoryRoot, env: this.#env, ...limits }))
      .stdout;
  }

  /** Shows a command and runs it. Its output is not shown. */
  async do(command: string): Promise<void> {
    this.terminal.command(command);
    await this.quiet(command);
  }

  /** Shows a command, runs it, and quotes its output. @returns the output */
  async run(command: string): Promise<string> {
    this.terminal.command(command);
    const output = await this.quiet(command);
    this.terminal.quote(output);
    return output;
  }

  /** Like `run`, but repeats the command until its output is as expected. kubectl may show an older state. */
  async until(command: string, isWanted: (output: string) => boolean): Promise<void> {
    this.terminal.command(command);
    const look = () => this.quiet(command).catch(() => "");
    await this.quoteWhen(command, look, isWanted);
  }

  /** Looks until the output is as expected, and quotes the last one. @returns the output */
  async quoteWhen(what: string, look: () => Promise<string>, isWanted: (output: string) => boolean): Promise<string> {
    let last = "";
    try {
      await this.waitFor(`the answer of ${what}`, async () => {
        last = await look();
        return isWanted(last) || undefined;
      });
    } finally {
      this.terminal.quote(last);
    }
    return last;
  }

  /** Waits until there is a value, or the demo must end. */
  waitFor<Value>(what: string, look: () => Promise<Value | undefined> | Value | undefined): Promise<Value> {
    return waitUntil(look, { what, signal: this.signal });
  }

  /** Starts a command that goes on until it is killed. */
  start(command: string): ChildProcessByStdio<null, Readable, Readable> {
    const how = { cwd: repositoryRoot, env: this.#env };
    return spawn("sh", ["-c", `exec ${command}`], { ...how, stdio: ["ignore", "pipe", "pipe"] });
  }
}
