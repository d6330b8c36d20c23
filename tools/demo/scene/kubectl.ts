/** Runs the real kubectl. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { defaultTimeoutMs } from "../../process/wait-until.ts";

/** The real kubectl, as one user of one API server. */
export interface Kubectl {
  /** Runs a command. @returns standard output. @throws Error with its output when it fails or takes too long */
  run(args: readonly string[]): Promise<string>;
  /** Runs a command with `-o json`, and parses its output. */
  getJson<Value>(args: readonly string[]): Promise<Value>;
  /** Runs a command until `stop`. `onLine` receives each line of its output. */
  watch(args: readonly string[], onLine: (line: string) => void): KubectlWatch;
}

/** A kubectl that runs until it is stopped. */
export interface KubectlWatch {
  /** Rejects if kubectl ends by itself; resolves after it was stopped. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** How kubectl is run. */
export interface KubectlOptions {
  readonly binary: string;
  readonly env: NodeJS.ProcessEnv;
  /** The directory in which a person would type the commands. */
  readonly cwd: string;
  /** Ends everything that runs. */
  readonly signal: AbortSignal;
}

/** Makes a kubectl for an environment. */
export function createKubectl(options: KubectlOptions): Kubectl {
  const run = (args: readonly string[]) => runOnce(options, args);
  return {
    run,
    getJson: async <Value>(args: readonly string[]) => JSON.parse(await run([...args, "-o", "json"])) as Value,
    watch: (args, onLine) => startWatch(options, args, onLine),
  };
}

async function runOnce({ binary, env, cwd, signal }: KubectlOptions, args: readonly string[]): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(binary, args, { env, cwd, stdio: ["ignore", "pipe", "pipe"], timeout: defaultTimeoutMs });
  const kill = () => child.kill();
  signal.addEventListener("abort", kill, { once: true });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.on("error", reject).on("close", resolve);
  const code = await promise.finally(() => signal.removeEventListener("abort", kill));
  signal.throwIfAborted();
  if (code === 0) return stdout;
  throw new Error(`kubectl ${args.join(" ")} ended with code ${code ?? "none, it took too long"}: ${stderr.trim()}`);
}

function startWatch(
  { binary, env, cwd }: KubectlOptions,
  args: readonly string[],
  onLine: (line: string) => void,
): KubectlWatch {
  const child = spawn(binary, args, { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
  createInterface({ input: child.stdout }).on("line", onLine);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  let isStopped = false;
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  child.on("error", reject).on("close", () => {
    if (isStopped) resolve();
    else reject(new Error(`kubectl ${args.join(" ")} ended by itself: ${stderr.trim()}`));
  });
  // A caller that waits receives the error. If no caller waits, the rejection must not end the process.
  ended.catch(() => {});
  return {
    ended,
    async stop() {
      isStopped = true;
      child.kill();
      await ended.catch(() => {});
    },
  };
}
