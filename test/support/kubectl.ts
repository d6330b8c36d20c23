/** Runs kubectl in tests. */
import { spawn } from "node:child_process";
import path from "node:path";

/** The result of a run of kubectl. */
export interface KubectlResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit code; 124 when the deadline ended it. */
  readonly code: number;
}

/** Options of one run. */
export interface KubectlRunOptions {
  /** Text for `-f -`. */
  readonly stdin?: string;
  /** @default 120_000 */
  readonly timeoutMs?: number;
}

/** The real kubectl, as one user of one API server. */
export interface Kubectl {
  /** Runs kubectl and returns its result, also if it failed. */
  tryRun(args: readonly string[], options?: KubectlRunOptions): Promise<KubectlResult>;
  /**
   * Runs kubectl and returns its standard output.
   * @throws Error with its output when it fails
   */
  run(args: readonly string[], options?: KubectlRunOptions): Promise<string>;
  /**
   * Runs kubectl with `-o json` and returns the parsed object.
   * @throws Error when it fails
   */
  getJson<T = unknown>(args: readonly string[], options?: KubectlRunOptions): Promise<T>;
}

/**
 * Makes a kubectl for a kubeconfig. It does not use or change the user's own settings: no KUBECONFIG and no
 * preferences. Its discovery cache is beside the kubeconfig. A shared cache is stored by address, and could come from
 * an earlier server on the same port.
 */
export function createKubectl(target: { readonly binary: string; readonly kubeconfigFile: string }): Kubectl {
  const cacheDirectory = path.join(path.dirname(target.kubeconfigFile), "kubectl-cache");
  const targetArgs = ["--kubeconfig", target.kubeconfigFile, "--cache-dir", cacheDirectory];
  const tryRun: Kubectl["tryRun"] = (args, options = {}) =>
    runKubectl(target.binary, [...targetArgs, ...args], options);
  const run: Kubectl["run"] = async (args, options) => {
    const result = await tryRun(args, options);
    if (result.code === 0) return result.stdout;
    throw new Error(`kubectl ${args.join(" ")} ended with code ${result.code}: ${result.stderr.trim()}`);
  };
  return {
    tryRun,
    run,
    getJson: async <T>(args: readonly string[], options?: KubectlRunOptions) =>
      JSON.parse(await run([...args, "--output=json"], options)) as T,
  };
}

function runKubectl(binary: string, args: readonly string[], options: KubectlRunOptions): Promise<KubectlResult> {
  const { promise, resolve, reject } = Promise.withResolvers<KubectlResult>();
  const env = { ...process.env, KUBERC: "off" };
  const timeout = options.timeoutMs ?? 120_000;
  const child = spawn(binary, args, { stdio: "pipe", env, timeout, killSignal: "SIGKILL" });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  child.on("error", reject);
  child.on("close", (code) => resolve({ stdout, stderr, code: code ?? 124 }));
  // kubectl may end before it has read all input. Then its exit code shows the reason.
  child.stdin.on("error", () => {});
  child.stdin.end(options.stdin ?? "");
  return promise;
}
