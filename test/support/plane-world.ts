import type { ControlPlaneStatus } from "../../src/resource/control-plane-schema.ts";
import { AccessWorld } from "./access-world.ts";
import { SandboxControl } from "./sandbox-control.ts";
import { StoredKind } from "./stored-resource.ts";
import { startTestSandbox, startWorld, type World, type WorldOptions } from "./world.ts";

/** The control planes of a namespace. Each name begins with its kind: `controlplane/` or `clustercontrolplane/`. */
export class PlaneWorld extends StoredKind<ControlPlaneStatus> {
  readonly world: World;
  readonly access: AccessWorld;
  /** The sandbox of the second account. */
  readonly second: SandboxControl;
  readonly url: string;
  readonly apiKey: string;
  protected readonly place: World;
  #touches = 0;

  constructor(world: World, second: { readonly url: string; readonly controlUrl: string; readonly apiKey: string }) {
    super("ControlPlane", { url: second.url });
    this.world = world;
    this.place = world;
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

  /** Makes a control plane. Without a spec it is the one of the second account, with the Secret `second-key`. */
  override manifest(name: string, spec: object): object {
    const { namespace } = this.world;
    const [kind, plain = ""] = name.split("/");
    const isCluster = kind === "clustercontrolplane";
    const apiKeySecretRef = { ...(isCluster ? { namespace } : {}), name: "second-key", key: "api-key" };
    const manifest = super.manifest(plain, { apiKeySecretRef, ...spec });
    return isCluster ? { ...manifest, kind: "ClusterControlPlane", metadata: { name: plain } } : manifest;
  }

  /** Asks the operator to reconcile the control plane now. */
  async touch(name: string): Promise<void> {
    this.#touches += 1;
    await this.annotate(name, "reconcileRequestedAt", `${this.#touches}`);
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
