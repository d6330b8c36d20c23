/** Starts and ends the programs of the demo. */
import { mkdtempSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type ApiServer, startApiServer } from "../../api-server/api-server.ts";
import { writeKubeconfig } from "../../api-server/kubeconfig.ts";
import { AssetError } from "../../assets/asset-error.ts";
import { monitoringAssets } from "../../assets/asset-table.ts";
import type { ProgressSink } from "../../assets/progress.ts";
import { resolveAssets } from "../../assets/resolve-assets.ts";
import { buildProgram } from "../../build.ts";
import type { Component } from "../../process/component.ts";
import { createKubectl, type Kubectl } from "../../process/kubectl.ts";
import { type ProgramOptions, startOperator, startSandbox } from "../../process/programs.ts";
import { type MonitoringStack, startMonitoringStack } from "../../prometheus/monitoring-stack.ts";

/** The repository's root. The commands of the demo are typed there. */
export const repositoryRoot = fileURLToPath(new URL("../../..", import.meta.url));

const operatorNamespace = "endpoint-operator-system";

/** A real API server, and kubectl as its administrator, who acts as the user. */
export interface Cluster {
  readonly apiServer: ApiServer;
  readonly kubectl: Kubectl;
}

/** The addresses of the running sandbox. */
export interface SandboxAddress {
  /** The URL without a path. */
  readonly origin: string;
  readonly apiKey: string;
  /** The port of the databases; `undefined`: no database servers run. */
  readonly databasePort: string | undefined;
}

/** The monitoring that runs. If its programs are not available: why, and how to get them. */
export type Monitoring =
  | { readonly kind: "Running"; readonly stack: MonitoringStack }
  | { readonly kind: "Missing"; readonly why: string };

/**
 * The processes of the demo, and their one temporary directory. Each method starts one part. `stop` ends them all, the
 * last one first, and removes the directory.
 */
export class DemoWorld {
  /** Aborted when the demo must end, or when one of its programs has ended by itself. */
  readonly signal: AbortSignal;
  /** The operator and the sandbox, as far as they run. */
  readonly programs: Component[] = [];
  readonly #directory = mkdtempSync(path.join(tmpdir(), "endpoint-operator-demo-"));
  readonly #progress: ProgressSink;
  readonly #broken = new AbortController();
  readonly #parts = new AsyncDisposableStack();
  #isStopping = false;
  #program = "";

  constructor(interruption: AbortSignal, progress: ProgressSink) {
    this.#progress = progress;
    this.signal = AbortSignal.any([interruption, this.#broken.signal]);
    this.#parts.defer(() => rm(this.#directory, { recursive: true, force: true }));
  }

  /** Returns the path of a file or directory of this world. */
  file(name: string): string {
    return path.join(this.#directory, name);
  }

  /** Finds the binaries, starts an API server with its etcd, and bundles the program as it is shipped. */
  async startCluster(): Promise<Cluster> {
    const { signal } = this;
    const assets = await resolveAssets(["kube-apiserver", "etcd", "kubectl"], { progress: this.#progress, signal });
    const apiServer = await startApiServer({ assets });
    this.#parts.defer(() => apiServer.stop());
    await mkdir(this.file("bin"));
    await symlink(assets.kubectl, this.file("bin/kubectl"));
    this.#program = (await buildProgram(this.file("dist"))).program;
    const { kubeconfigFile } = apiServer;
    const places = { kubeconfigFile, cacheFolder: this.file("kubectl-cache"), cwd: repositoryRoot };
    return { apiServer, kubectl: createKubectl({ binary: assets.kubectl, ...places, signal }) };
  }

  /** Starts the sandbox on a free port with a random key. */
  async startSandbox(args: readonly string[]): Promise<SandboxAddress> {
    const { component, origin, log } = await startSandbox(this.#options("sandbox", { args }));
    this.#keep(component);
    const [, apiKey = ""] = /API key (\S+)\n/.exec(log) ?? [];
    await writeFile(this.file("sandbox-key"), apiKey, { mode: 0o600 });
    return { origin, apiKey, databasePort: /databases on [^\s,]+:(\d+),/.exec(log)?.[1] };
  }

  /** Writes a kubeconfig with a token of the shipped service account, and nothing else. */
  async writeOperatorKubeconfig({ apiServer: { url, caFile }, kubectl }: Cluster): Promise<string> {
    const account = ["endpoint-operator", "-n", operatorNamespace];
    const token = (await kubectl.run(["create", "token", ...account, "--duration=24h"])).trim();
    const file = this.file("operator-kubeconfig");
    await writeKubeconfig(file, { server: url, caFile, token, namespace: operatorNamespace });
    return file;
  }

  /** Starts the operator and waits until it is ready. @returns the URL of its metrics page */
  async startOperator(settings: Readonly<Record<string, string>>): Promise<string> {
    const { component, metricsUrl } = await startOperator(this.#options("operator", { settings }));
    this.#keep(component);
    return metricsUrl;
  }

  /** Starts Prometheus and Alertmanager. If they are not available, the demo goes on without them. */
  async startMonitoring(metricsUrl: string): Promise<Monitoring> {
    try {
      const assets = await resolveAssets(monitoringAssets, { progress: this.#progress, signal: this.signal });
      // In a cluster, service discovery sets this label: the operator's own namespace, not that of the resources.
      const targetLabels = { namespace: operatorNamespace };
      const stack = await startMonitoringStack({ assets, targets: [new URL(metricsUrl).host], targetLabels });
      this.#parts.defer(() => stack.stop());
      return { kind: "Running", stack };
    } catch (error) {
      if (!(error instanceof AssetError)) throw error;
      return { kind: "Missing", why: error.message };
    }
  }

  /** Ends all programs and waits until they have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#parts.disposeAsync();
  }

  #options(name: string, given: Pick<ProgramOptions, "args" | "settings">): ProgramOptions {
    this.signal.throwIfAborted();
    return { program: this.#program, logFile: this.file(`${name}.log`), ...given };
  }

  #keep(component: Component): void {
    this.programs.push(component);
    this.#parts.defer(async () => {
      await component.process.stop();
    });
    void component.process.exited.then(({ code, signal }) => {
      const how = signal ?? `code ${code}`;
      if (!this.#isStopping) this.#broken.abort(new Error(`the ${component.name} ended by itself (${how})`));
    });
  }
}
