import { conditionOf } from "../../src/resource/conditions.ts";
import type { ControlPlaneStatus } from "../../src/resource/control-plane-schema.ts";
import { annotations } from "../../src/resource/names.ts";
import { AccessWorld } from "./access-world.ts";
import { saveOutput } from "./outputs.ts";
import { SandboxControl } from "./sandbox-control.ts";
import { untilNotStored, untilStored } from "./stored-resource.ts";
import { startTestSandbox, startWorld, type World, type WorldOptions } from "./world.ts";

/** A stored ControlPlane or ClusterControlPlane, as far as tests read it. */
export interface StoredPlane {
  readonly metadata: {
    readonly uid: string;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
  readonly status: ControlPlaneStatus;
}

/** The name of a control plane for `kubectl`. */
export type PlaneName = `controlplane/${string}` | `clustercontrolplane/${string}`;

export class PlaneWorld {
  readonly world: World;
  readonly access: AccessWorld;
  /** The sandbox of the second account. */
  readonly second: SandboxControl;
  readonly url: string;
  readonly apiKey: string;
  #touches = 0;

  constructor(world: World, second: { readonly url: string; readonly controlUrl: string; readonly apiKey: string }) {
    this.world = world;
    this.access = new AccessWorld(world);
    this.second = new SandboxControl(second);
    this.url = second.url;
    this.apiKey = second.apiKey;
  }

  /** Writes a Secret with the key `api-key`. */
  async secret(name: string, value: string, namespace = this.world.namespace): Promise<void> {
    const data = { "api-key": Buffer.from(value).toString("base64") };
    const manifest = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, data };
    await this.world.kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify(manifest) });
  }

  /** Applies a control plane. Without a spec it is the one of the second account, with the Secret `second-key`. */
  async apply(name: PlaneName, spec: object = {}): Promise<void> {
    const { namespace, kubectl } = this.world;
    const [kind, plain] = name.split("/");
    const isCluster = kind === "clustercontrolplane";
    const apiKeySecretRef = { ...(isCluster ? { namespace } : {}), name: "second-key", key: "api-key" };
    const manifest = {
      apiVersion: "endpoint-operator.dev/v1alpha1",
      kind: isCluster ? "ClusterControlPlane" : "ControlPlane",
      metadata: { name: plain, ...(isCluster ? {} : { namespace }) },
      spec: { url: this.url, apiKeySecretRef, ...spec },
    };
    await kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify(manifest) });
  }

  /** Asks the operator to reconcile the control plane now. */
  async touch(name: PlaneName): Promise<void> {
    const { namespace, kubectl } = this.world;
    this.#touches += 1;
    const change = `${annotations.reconcileRequestedAt}=${this.#touches}`;
    await kubectl.run(["-n", namespace, "annotate", "--overwrite", name, change]);
  }

  async get(name: PlaneName): Promise<StoredPlane | undefined> {
    const { namespace, kubectl } = this.world;
    const text = await kubectl.run(["-n", namespace, "get", name, "--ignore-not-found", "--output=json"]);
    if (text.trim() === "") return undefined;
    saveOutput("status", text);
    return JSON.parse(text) as StoredPlane;
  }

  until(name: PlaneName, what: string, isWanted: (plane: StoredPlane) => boolean): Promise<StoredPlane> {
    return untilStored(this.#wait(name, `${name}: ${what}`), isWanted);
  }

  untilReason(name: PlaneName, reason: string): Promise<StoredPlane> {
    return this.until(name, reason, ({ status }) => conditionOf(status.conditions, "Ready")?.reason === reason);
  }

  untilGone(name: PlaneName): Promise<void> {
    return untilNotStored(this.#wait(name, name));
  }

  #wait(name: PlaneName, what: string) {
    const lastSeen = (seen?: StoredPlane) => `${JSON.stringify(seen)} ${JSON.stringify(this.world.logs.slice(-15))}`;
    return { get: () => this.get(name), what, lastSeen };
  }
}

/**
 * Starts a world whose operator may read the Secrets of the namespace. The key of the second account is in
 * `second-key`.
 */
export async function startPlaneWorld(options: WorldOptions = {}): Promise<PlaneWorld> {
  const second = await startTestSandbox();
  const planes = new PlaneWorld(await startWorld(options), second);
  await planes.access.allowSecrets();
  await planes.secret("second-key", second.apiKey);
  return planes;
}
