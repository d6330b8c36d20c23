/** Wires the control planes: that of the settings, and those that resources describe. */
import { readFile } from "node:fs/promises";
import type { Config } from "../config.ts";
import type { Logger } from "../domain/logger.ts";
import type { KindGaps } from "../domain/resource-store.ts";
import type { KindWatchOptions } from "../kubernetes/kind-watch.ts";
import { clusterControlPlaneKind, controlPlaneKind } from "../kubernetes/store/resource-kinds.ts";
import { createSecretStore } from "../kubernetes/store/secret-store.ts";
import { keyIn, keyInFile, keyInSecretOrFile } from "../planes/api-key.ts";
import type { PlaneOptions } from "../planes/plane.ts";
import { PlaneKeeper, type PlaneKeeperOptions } from "../planes/plane-keeper.ts";
import type { PlaneSource } from "../planes/plane-source.ts";
import { Planes } from "../planes/planes.ts";
import { keyInSecrets, type SecretReads, secretAgainMs } from "../planes/secret-key.ts";
import {
  idOfPlane,
  kindOfPlane,
  namespaceOfPlane,
  type PlaneResource,
  projectKey,
} from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";
import { WatchedKind, type WatchedKindOptions } from "./watched-kind.ts";

export interface ControlPlanesOptions
  extends Omit<PlaneOptions, "secrets" | "gapOf" | "onNews" | "settings" | "grantMode" | "tenantHosts">,
    Pick<PlaneKeeperOptions, "usersOf" | "events">,
    Pick<KindWatchOptions, "connection" | "fence" | "random" | "onRestored">,
    Pick<WatchedKindOptions<PlaneResource>, "enqueue"> {
  readonly config: Config;
  readonly account: string;
  readonly logger: Logger;
  /** Where the kinds are not watched, by the name of the kind. */
  readonly gaps: ReadonlyMap<string, KindGaps>;
  /** The certificate authority of the databases as PEM, if no control plane has its own. */
  readonly databaseAuthority?: string | undefined;
}

type WatchedPlanes = WatchedKind<PlaneResource, ControlPlaneStatus>;

/** The interval at which a key file is read, in milliseconds, so that a changed one is used soon. */
const fileAgainMs = 1_000;

export class ControlPlanes {
  readonly planes: Planes;
  readonly kinds: readonly WatchedPlanes[];
  readonly keeper: PlaneKeeper;
  readonly #enqueue: ControlPlanesOptions["enqueue"];

  constructor(options: ControlPlanesOptions) {
    const { config } = options;
    this.#enqueue = options.enqueue;
    const kinds = {
      ControlPlane: this.#watched("ControlPlane", options),
      ClusterControlPlane: this.#watched("ClusterControlPlane", options),
    };
    this.kinds = Object.values(kinds);
    const kindOf = (planeId: string): WatchedPlanes | undefined => {
      const kind = kindOfPlane(planeId);
      return kind && kinds[kind];
    };
    const secrets = createSecretStore(options);
    this.planes = new Planes({
      ...{ ...options, secrets, settings: settingsSource(options, secrets) },
      ...{ grantMode: config.projectGrants, tenantHosts: config.tenantHosts },
      onNews: (planeId) => this.enqueue(planeId),
      gapOf: (planeId) => kindOf(planeId)?.watch.gapIn(namespaceOfPlane(planeId)),
    });
    this.keeper = new PlaneKeeper({
      ...{ ...options, planes: this.planes, storeOf: (planeId) => kindOf(planeId)?.store },
      mayRecordOfCluster: config.watchNamespaces.length === 0,
    });
  }

  /** Queues the control plane if a resource can describe it. */
  enqueue(planeId: string): void {
    if (kindOfPlane(planeId) !== undefined) this.#enqueue(keyOf(planeId), "Urgent");
  }

  #watched(kind: PlaneResource["kind"], options: ControlPlanesOptions): WatchedPlanes {
    const [resourceKind, namespaces] =
      kind === "ControlPlane" ? [controlPlaneKind, options.config.watchNamespaces] : [clusterControlPlaneKind, []];
    const watched: WatchedPlanes = new WatchedKind(resourceKind, {
      ...{ ...options, namespaces, gaps: options.gaps.get(kind) },
      keysOf: (resource) => [keyOf(idOfPlane(resource))],
      onChange: (key) => this.planes.of(idOfPlane({ kind, key })).note(watched.store.get(key)),
    });
    return watched;
  }
}

/** The key of a control plane in the work queue. It names no project. */
function keyOf(planeId: string): string {
  return projectKey(planeId, "");
}

function settingsSource(options: ControlPlanesOptions, secrets: SecretReads): PlaneSource {
  const { controlPlaneUrl: url, databasePort: port, databaseSslMode: sslMode } = options.config;
  const databases = { port, sslMode, certificateAuthority: options.databaseAuthority };
  return { url, databases, place: "", keyPlace: "", mayBeNearby: true, ...keyOfSettings(options, secrets) };
}

function keyOfSettings({ config: { apiKey }, connection, logger }: ControlPlanesOptions, secrets: SecretReads) {
  if (apiKey.kind === "Value") {
    const readKey = async () => keyIn(apiKey.value, "the API key of the settings");
    return { readKey, keyAgainMs: Number.POSITIVE_INFINITY };
  }
  const file = keyInFile(() => readFile(apiKey.path, "utf8"));
  if (apiKey.secret === undefined) {
    return { readKey: file, keyAgainMs: fileAgainMs };
  }
  const { name, key } = apiKey.secret;
  const secret = keyInSecrets(secrets, { secret: { namespace: connection.namespace, name }, key });
  const message = "cannot read the API key from its Secret; the operator uses the mounted file";
  const readKey = keyInSecretOrFile(secret, file, (reason) => logger.warn({ reason }, message));
  return { readKey, keyAgainMs: secretAgainMs };
}
