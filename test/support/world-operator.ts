/** Starts and stops the operator of a world. */
import type { KubeConfig } from "@kubernetes/client-node";
import { type Config, parseConfig } from "../../src/config.ts";
import { loadCredentialSource } from "../../src/kubernetes/http/credentials.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { startTracing } from "../../src/tracing/start-tracing.ts";
import { type RunningOperator, startOperator } from "../../src/wiring/operator.ts";
import { saveOutput } from "./outputs.ts";
import { quickSettings } from "./quick-settings.ts";
import type { WorldOutputs } from "./world-outputs.ts";

/** The options of an operator of a world. */
export interface WorldOperatorOptions {
  readonly namespace: string;
  readonly serviceUrl: string;
  readonly apiKey: string;
  /** Its connection to the API server. It is read at each start. */
  readonly kubeConfig: () => KubeConfig;
  /** Settings that replace the test defaults. */
  readonly environment: Readonly<Record<string, string>>;
  readonly outputs: WorldOutputs;
}

const testEnvironment = { ...quickSettings, OPERATION_POLL_SECONDS: "0.5", RESYNC_SECONDS: "600" };

const version = "0.0.0-test";

/** The operator of one world, in this process: one run after the other. */
export class WorldOperator {
  readonly #options: WorldOperatorOptions;
  #running: RunningOperator | undefined;

  constructor(options: WorldOperatorOptions) {
    this.#options = options;
  }

  /**
   * Starts a run.
   * @param environment settings that replace those of the world
   */
  async start(environment: Readonly<Record<string, string>> = {}): Promise<void> {
    const { namespace, serviceUrl, apiKey, kubeConfig, outputs } = this.#options;
    const config = parseConfig({
      ...testEnvironment,
      CONTROL_PLANE_URL: serviceUrl,
      CONTROL_PLANE_API_KEY: apiKey,
      WATCH_NAMESPACES: namespace,
      // Sandboxes of further accounts listen on loopback.
      TENANT_CONTROL_PLANE_HOSTS: "127.0.0.1",
      ...this.#options.environment,
      ...environment,
    });
    const credentials = loadCredentialSource(kubeConfig);
    const own = { credentials, clock: systemClock, logger: outputs.logger, version, random: Math.random };
    this.#running = await startOperator({
      config,
      ...this.#tracing(config),
      ...own,
      instance: this.#instance(),
    });
  }

  /** Ends the run, if there is one. */
  async stop(): Promise<void> {
    const stopping = this.#running;
    this.#running = undefined;
    if (stopping === undefined) return;
    await stopping.stop();
    saveOutput("metrics", await stopping.metricsPage());
  }

  /** Returns the metrics page. */
  async metrics(): Promise<string> {
    return (await this.scrape()).text();
  }

  /** Returns the answer of `/metrics` to a client with this token. */
  scrape(token?: string): Promise<Response> {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return fetch(`http://127.0.0.1:${this.#running?.metricsPort}/metrics`, { headers });
  }

  #instance(): string {
    return `test-${this.#options.namespace}`;
  }

  /** Starts tracing like `endpoint-operator run`. */
  #tracing({ tracesEndpoint: endpoint }: Config) {
    if (endpoint === undefined) {
      return {};
    }
    const { outputs } = this.#options;
    const own = { version, instance: this.#instance(), clock: systemClock, logger: outputs.logger };
    const { tracer, shutDown } = startTracing({ ...own, endpoint });
    return { tracer, flushTraces: shutDown };
  }
}
