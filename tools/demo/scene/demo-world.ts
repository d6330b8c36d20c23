/** Starts and ends the programs of the demo. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type ApiServer, startApiServer } from "../../api-server/api-server.ts";
import { writeKubeconfig } from "../../api-server/kubeconfig.ts";
import { AssetError } from "../../assets/asset-error.ts";
import { apiServerAssets, monitoringAssets } from "../../assets/asset-table.ts";
import type { ProgressSink } from "../../assets/progress.ts";
import { resolveAssets } from "../../assets/resolve-assets.ts";
import { buildProgram } from "../../build.ts";
import { isAnswering, waitUntil } from "../../process/wait-until.ts";
import { startMonitoringStack } from "../../prometheus/monitoring-stack.ts";
import { createKubectl, type Kubectl } from "./kubectl.ts";
import type { Monitoring } from "./monitoring.ts";
import { operatorPorts, type Program, startProgram } from "./program.ts";
import type { SandboxAddress } from "./sandbox-client.ts";

/** The repository's root. The commands of the demo are typed there. */
export const repositoryRoot = fileURLToPath(new URL("../../..", import.meta.url));

const operatorNamespace = "endpoint-operator-system";
const operatorAccount = "endpoint-operator";

/** The parts that run before the operator and the sandbox. */
export interface Cluster {
  readonly apiServer: ApiServer;
  readonly kubectl: Kubectl;
}

/**
 * The processes of the demo, and their one temporary directory. Each method starts one part. `stop` ends them all, the
 * last one first, and removes the directory.
 */
export class DemoWorld {
  readonly directory: string;
  /** Aborted when the demo must end, or when one of its programs has ended by itself. */
  readonly signal: AbortSignal;
  readonly #broken = new AbortController();
  readonly #parts = new AsyncDisposableStack();
  readonly #programs: Program[] = [];
  #isStopping = false;

  private constructor(directory: string, interruption: AbortSignal) {
    this.directory = directory;
    this.signal = AbortSignal.any([interruption, this.#broken.signal]);
    this.#parts.defer(() => rm(directory, { recursive: true, force: true }));
  }

  /** Makes a world without programs. */
  static async create(interruption: AbortSignal): Promise<DemoWorld> {
    return new DemoWorld(await mkdtemp(path.join(tmpdir(), "endpoint-operator-demo-")), interruption);
  }

  /** Returns the path of a file or directory of this world. */
  file(name: string): string {
    return path.join(this.directory, name);
  }

  /** Finds the binaries, and starts an API server with its etcd. */
  async startCluster(progress: ProgressSink): Promise<Cluster> {
    const assets = await resolveAssets(apiServerAssets as readonly ["kube-apiserver", "etcd", "kubectl"], {
      progress,
      signal: this.signal,
    });
    const apiServer = await startApiServer({ assets });
    this.#parts.defer(() => apiServer.stop());
    await mkdir(this.file("bin"));
    await symlink(assets.kubectl, this.file("bin/kubectl"));
    const kubectl = createKubectl({
      binary: assets.kubectl,
      // The programs see nothing of the user's own settings, and leave nothing there.
      env: {
        ...process.env,
        KUBECONFIG: apiServer.kubeconfigFile,
        KUBECACHEDIR: this.file("kubectl-cache"),
        KUBERC: "off",
      },
      cwd: repositoryRoot,
      signal: this.signal,
    });
    return { apiServer, kubectl };
  }

  /** Bundles the program as it is shipped. */
  async buildProgram(): Promise<string> {
    return (await buildProgram(this.file("dist"))).program;
  }

  /**
   * Starts the sandbox on a free port with a random key.
   * @param args the arguments after `endpoint-operator sandbox`
   */
  async startSandbox(program: string, args: readonly string[]): Promise<SandboxAddress> {
    const sandbox = await this.#start({ name: "sandbox", file: program, args: ["sandbox", ...args], settings: {} });
    const address = await waitUntil(async () => sandboxAddress(await sandbox.readLog()), {
      what: "the sandbox listens",
      signal: this.signal,
    });
    await writeFile(this.file("sandbox-key"), address.apiKey, { mode: 0o600 });
    return address;
  }

  /** Writes a kubeconfig with a token of the shipped service account, and nothing else. */
  async writeOperatorKubeconfig({ apiServer, kubectl }: Cluster): Promise<string> {
    const token = await kubectl.run(["-n", operatorNamespace, "create", "token", operatorAccount, "--duration=24h"]);
    const file = this.file("operator-kubeconfig");
    await writeKubeconfig(file, {
      server: apiServer.url,
      caFile: apiServer.caFile,
      token: token.trim(),
      namespace: operatorNamespace,
    });
    return file;
  }

  /**
   * Starts the operator on free ports and waits until it is ready.
   * @param settings its settings without addresses.
   * @returns the URL of its metrics page.
   */
  async startOperator(program: string, settings: Readonly<Record<string, string>>): Promise<string> {
    const operator = await this.#start({
      name: "operator",
      file: program,
      args: ["run"],
      settings: { ...settings, METRICS_ADDR: "127.0.0.1:0", HEALTH_ADDR: "127.0.0.1:0" },
    });
    const wait = { what: "the operator is ready", signal: this.signal };
    const { metricsPort, healthPort } = await waitUntil(async () => operatorPorts(await operator.readLog()), wait);
    await waitUntil(async () => (await isAnswering(`http://127.0.0.1:${healthPort}/readyz`)) || undefined, wait);
    return `http://127.0.0.1:${metricsPort}/metrics`;
  }

  /** Starts Prometheus and Alertmanager. If they are not available, the demo goes on without them. */
  async startMonitoring(metricsUrl: string, progress: ProgressSink): Promise<Monitoring> {
    try {
      const assets = await resolveAssets(monitoringAssets, { progress, signal: this.signal });
      const { host } = new URL(metricsUrl);
      // In a cluster, service discovery sets this label: the operator's own namespace, not that of the resources.
      const targetLabels = { namespace: operatorNamespace };
      const stack = await startMonitoringStack({ assets, targets: [host], targetLabels });
      this.#parts.defer(() => stack.stop());
      return { kind: "Running", stack };
    } catch (error) {
      if (!(error instanceof AssetError) || error.reason === "Interrupted") throw error;
      return { kind: "Missing", why: error.message };
    }
  }

  /** The files into which the programs of the demo write. */
  get logFiles(): readonly string[] {
    return this.#programs.map(({ logFile }) => logFile);
  }

  /** Returns the last lines of each program's log, for a person who looks for the cause of a failure. */
  async logTails(): Promise<readonly { readonly name: string; readonly lines: readonly string[] }[]> {
    return await Promise.all(
      this.#programs.map(async ({ name, readLog }) => ({
        name,
        lines: (await readLog())
          .trimEnd()
          .split("\n")
          .filter((line) => !line.includes("API key"))
          .slice(-8),
      })),
    );
  }

  /** Ends all programs and waits until they have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#parts.disposeAsync();
  }

  async #start(options: {
    readonly name: string;
    readonly file: string;
    readonly args: readonly string[];
    readonly settings: Readonly<Record<string, string>>;
  }): Promise<Program> {
    const { name, file, args, settings } = options;
    const { PATH, HOME, TMPDIR } = process.env;
    const program = await startProgram({
      name,
      file,
      args,
      env: { PATH, HOME, TMPDIR, ...settings },
      logFile: this.file(`${name}.log`),
    });
    this.#programs.push(program);
    this.#parts.defer(async () => {
      await program.process.stop();
    });
    void program.process.exited.then(({ code, signal }) => {
      if (this.#isStopping) return;
      this.#broken.abort(new Error(`the ${name} ended by itself (${signal ?? `code ${code}`})`));
    });
    return program;
  }
}

function sandboxAddress(log: string): SandboxAddress | undefined {
  const origin = /listening on (http:\/\/[^/\s]+)/.exec(log)?.[1];
  const apiKey = /API key (\S+)\n/.exec(log)?.[1];
  const databasePort = /databases on [^\s,]+:(\d+),/.exec(log)?.[1];
  return origin === undefined || apiKey === undefined ? undefined : { origin, apiKey, databasePort };
}
