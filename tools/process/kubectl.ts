/** Runs the real kubectl. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { defaultTimeoutMs } from "./wait-until.ts";

/** The real kubectl, as one user of one API server. */
export interface Kubectl {
  /** Runs a command. @returns standard output. @throws Error with its output when it fails or takes too long */
  run(args: readonly string[]): Promise<string>;
}

/** How kubectl is run. */
export interface KubectlOptions {
  readonly binary: string;
  readonly kubeconfigFile: string;
  /** The folder of its discovery cache. The user's own cache may come from an earlier server on the same port. */
  readonly cacheFolder: string;
  /** The directory in which a person would type the commands. */
  readonly cwd: string;
  /** Ends everything that runs. */
  readonly signal?: AbortSignal;
}

/** Makes a kubectl that sees nothing of the user's own settings, and leaves nothing there. */
export function createKubectl({ binary, kubeconfigFile, cacheFolder, cwd, signal }: KubectlOptions): Kubectl {
  const env = { ...process.env, KUBECONFIG: kubeconfigFile, KUBECACHEDIR: cacheFolder, KUBERC: "off" };
  const limits = { timeout: defaultTimeoutMs, maxBuffer: 2 ** 28, ...(signal && { signal }) };
  return {
    async run(args) {
      signal?.throwIfAborted();
      return (await promisify(execFile)(binary, args, { cwd, env, ...limits })).stdout;
    },
  };
}
