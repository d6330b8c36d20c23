/** A world with DatabaseAccesses, for tests. */
import type { DatabaseAccessStatus } from "../../src/resource/database-access-schema.ts";
import { secret } from "./secrets.ts";
import { StoredKind, type StoredPlace, untilStored } from "./stored-resource.ts";
import { startWorld, type World, type WorldOptions } from "./world.ts";

/** The control plane makes no shorter passwords. */
const shortestPassword = 12;

/** A Secret, decoded. */
export interface DecodedSecret {
  readonly type: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly data: Readonly<Record<string, string>>;
}

/** The DatabaseAccesses and Secrets of a namespace, as its administrator sees them. */
export class AccessWorld<Place extends StoredPlace = World> extends StoredKind<DatabaseAccessStatus> {
  readonly world: Place;
  protected readonly place: Place;

  constructor(world: Place) {
    super("DatabaseAccess", {
      endpointRef: { name: "orders" },
      database: { name: "orders" },
      role: { name: "orders_app" },
    });
    this.world = world;
    this.place = world;
  }

  /** Lets the operator write Secrets in a namespace, as the message of SecretsForbidden says. @default the world's */
  async allowSecrets(namespace: string = this.world.namespace): Promise<void> {
    await this.world.kubectl.run([
      ...["create", "rolebinding", "endpoint-operator-secrets", `--namespace=${namespace}`],
      "--clusterrole=endpoint-operator-secrets",
      "--serviceaccount=endpoint-operator-system:endpoint-operator",
    ]);
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
