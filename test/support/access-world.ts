/** A world with DatabaseAccesses, for tests. */
import { conditionOf } from "../../src/resource/conditions.ts";
import type { DatabaseAccessStatus } from "../../src/resource/database-access-schema.ts";
import { annotations } from "../../src/resource/names.ts";
import { saveOutput } from "./outputs.ts";
import { secret } from "./secrets.ts";
import { untilNotStored, untilStored } from "./stored-resource.ts";
import { startWorld, type World, type WorldOptions } from "./world.ts";

/** The control plane makes no shorter passwords. */
const shortestPassword = 12;

/** A stored DatabaseAccess, as far as tests read it. */
export interface StoredAccess {
  readonly metadata: {
    readonly uid: string;
    readonly generation: number;
    readonly deletionTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  };
  readonly status: DatabaseAccessStatus;
}

/** A Secret, decoded. */
export interface DecodedSecret {
  readonly type: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly data: Readonly<Record<string, string>>;
}

/** A namespace as its administrator sees it, and the log of its operator if it is known. */
type AccessPlace = Pick<World, "namespace" | "kubectl"> & Partial<Pick<World, "logs">>;

/** The DatabaseAccesses and Secrets of a namespace, as its administrator sees them. */
export class AccessWorld<Place extends AccessPlace = World> {
  readonly world: Place;

  constructor(world: Place) {
    this.world = world;
  }

  /** Lets the operator write Secrets in a namespace, as the message of SecretsForbidden says. @default the world's */
  async allowSecrets(namespace: string = this.world.namespace): Promise<void> {
    await this.world.kubectl.run([
      ...["create", "rolebinding", "endpoint-operator-secrets", `--namespace=${namespace}`],
      "--clusterrole=endpoint-operator-secrets",
      "--serviceaccount=endpoint-operator-system:endpoint-operator",
    ]);
  }

  async apply(name: string, spec: object): Promise<void> {
    const manifest = {
      apiVersion: "endpoint-operator.dev/v1alpha1",
      kind: "DatabaseAccess",
      metadata: { name, namespace: this.world.namespace },
      spec: { endpointRef: { name: "orders" }, database: { name: "orders" }, role: { name: "orders_app" }, ...spec },
    };
    await this.world.kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify(manifest) });
  }

  async get(name: string): Promise<StoredAccess | undefined> {
    const args = ["-n", this.world.namespace, "get", "dba", name, "--ignore-not-found", "--output=json"];
    const text = await this.world.kubectl.run(args);
    return text.trim() === "" ? undefined : (JSON.parse(text) as StoredAccess);
  }

  async until(name: string, what: string, isWanted: (access: StoredAccess) => boolean): Promise<StoredAccess> {
    const found = await untilStored(this.#wait(name, `DatabaseAccess ${name}: ${what}`), isWanted);
    saveOutput("status", JSON.stringify(found));
    return found;
  }

  untilReady(name: string): Promise<StoredAccess> {
    return this.until(name, "Ready for its generation", ({ status, metadata }) => {
      const ready = conditionOf(status.conditions, "Ready");
      return ready?.status === "True" && ready.observedGeneration === metadata.generation;
    });
  }

  untilReason(name: string, reason: string): Promise<StoredAccess> {
    return this.until(name, reason, ({ status }) => conditionOf(status.conditions, "Ready")?.reason === reason);
  }

  untilGone(name: string): Promise<void> {
    return untilNotStored(this.#wait(name, `DatabaseAccess ${name}`));
  }

  #wait(name: string, what: string) {
    const lastSeen = (seen?: StoredAccess) => `${JSON.stringify(seen)} ${JSON.stringify(this.world.logs?.slice(-15))}`;
    return { get: () => this.get(name), what, lastSeen };
  }

  async secret(name: string): Promise<DecodedSecret | undefined> {
    const args = ["-n", this.world.namespace, "get", "secret", name, "--ignore-not-found", "--output=json"];
    const text = await this.world.kubectl.run(args);
    if (text.trim() === "") {
      return undefined;
    }
    const { type, metadata, data } = JSON.parse(text) as {
      type: string;
      metadata: { uid: string; resourceVersion: string };
      data: Record<string, string>;
    };
    const decoded = Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]);
    const content = Object.fromEntries(decoded) as Readonly<Record<string, string>>;
    const { password = "" } = content;
    // A text that the test itself has written there is no secret.
    if (password.length >= shortestPassword) {
      secret(password);
    }
    return { type, uid: metadata.uid, resourceVersion: metadata.resourceVersion, data: content };
  }

  /** Waits until the Secret is in the wanted state. */
  async untilSecret(name: string, what: string, isWanted: (secret: DecodedSecret) => boolean): Promise<DecodedSecret> {
    const get = () => this.secret(name);
    return untilStored({ get, what: `Secret ${name}: ${what}`, lastSeen: (seen) => seen?.type ?? "none" }, isWanted);
  }

  async annotate(name: string, key: keyof typeof annotations, value: string): Promise<void> {
    const change = `${annotations[key]}=${value}`;
    await this.world.kubectl.run(["-n", this.world.namespace, "annotate", "--overwrite", "dba", name, change]);
  }

  async delete(name: string): Promise<void> {
    await this.world.kubectl.run(["-n", this.world.namespace, "delete", "dba", name, "--wait=false"]);
  }
}

/** Starts a world with the right to write Secrets. */
export async function startAccessWorld(
  options: WorldOptions & { readonly maySecrets?: boolean } = {},
): Promise<AccessWorld> {
  const access = new AccessWorld(await startWorld(options));
  if (options.maySecrets !== false) {
    await access.allowSecrets();
  }
  return access;
}
