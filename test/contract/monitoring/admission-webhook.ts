/** Runs the admission webhook of the Prometheus operator. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { resolveAssets } from "../../../tools/assets/resolve-assets.ts";
import { type Component, startComponent, waitForComponent } from "../../../tools/process/component.ts";
import { findFreePorts } from "../../../tools/process/free-ports.ts";

const kind = { group: "monitoring.coreos.com", version: "v1", kind: "PrometheusRule" };
const resource = { group: "monitoring.coreos.com", version: "v1", resource: "prometheusrules" };

/** The admission webhook of the Prometheus operator, on loopback. It is built from Go modules once. */
export class AdmissionWebhook {
  readonly #component: Component;
  readonly #url: string;
  readonly #directory: string;

  private constructor(component: Component, url: string, directory: string) {
    this.#component = component;
    this.#url = url;
    this.#directory = directory;
  }

  /** @throws AssetError when it cannot be built; ComponentError when it does not start */
  static async start(): Promise<AdmissionWebhook> {
    const progress = (line: string) => void process.stdout.write(`${line}\n`);
    const { "admission-webhook": command } = await resolveAssets(["admission-webhook"], { progress });
    const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-webhook-"));
    const [port] = await findFreePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const component = await startComponent({
      ...{ name: "admission-webhook", command, graceMs: 2_000 },
      args: [`--web.listen-address=127.0.0.1:${port}`, "--web.enable-tls=false"],
      logFile: path.join(directory, "webhook.log"),
    });
    const isHealthy = () =>
      fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await waitForComponent(component, performance.now() + 20_000, isHealthy);
    return new AdmissionWebhook(component, url, directory);
  }

  /**
   * Whether the webhook allows a PrometheusRule.
   * @throws Error when its answer does not have the form that Kubernetes requires
   */
  async isAllowed(object: unknown): Promise<boolean> {
    const request = { uid: "uid-1", operation: "CREATE", resource, kind, object };
    const answer = await fetch(`${this.#url}/admission-prometheusrules/validate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request }),
    });
    const { response } = (await answer.json()) as { response: { uid: string; allowed: boolean } };
    if (response.uid !== request.uid) throw new Error(`the answer is to another request: ${response.uid}`);
    return response.allowed;
  }

  async stop(): Promise<void> {
    await this.#component.process.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
