import { readFile } from "node:fs/promises";
import type { Config } from "../config.ts";
import type { KindGaps } from "../domain/resource-store.ts";
import { planeKinds } from "../kubernetes/store/resource-kinds.ts";
import { createSecretStore } from "../kubernetes/store/secret-store.ts";
import { WatchedKind, type WatchedKindOptions } from "../kubernetes/watched-kind.ts";
import { keyIn, keyInFile, keyInSecretOrFile, keyInSecrets, type SecretReads } from "../planes/api-key.ts";
import { type PlaneSource, withAllowedHost } from "../planes/plane-source.ts";
import { Planes, type PlanesOptions } from "../planes/planes.ts";
import {
  idOfPlane,
  kindOfPlane,
  namespaceOfPlane,
  type PlaneResource,
  parseControlPlane,
  projectKey,
} from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";

type MadeHere = "secrets" | "isWatched" | "settings" | "grantMode" | "tenantHosts" | "storeOf" | "mayRecordOfCluster";

export interface ControlPlanesOptions
  extends Omit<PlanesOptions, MadeHere>,
    Pick<WatchedKindOptions<PlaneResource>, "connection" | "fence" | "random" | "onRestored" | "enqueue"> {
  readonly config: Config;
  readonly account: string;
  /** Where the kinds are not watched, by the name of the kind. */
  readonly gaps: ReadonlyMap<string, KindGaps>;
  /** The certificate authority of the databases as PEM, if no control plane has its own. */
  readonly databaseAuthority?: string | undefined;
}

/** The interval at which a key file is read, in milliseconds, so that a changed one is used soon. */
const fileAgainMs = 1_000;

/** The key of a control plane in the work queue. It names no project. */
export function queueKeyOf(planeId: string): string {
  return projectKey(planeId, "");
}

export function createControlPlanes(options: ControlPlanesOptions) {
  const { config } = options;
  const secrets = createSecretStore(options);
  const parse = (stored: unknown) => withAllowedHost(parseControlPlane(stored), config.tenantHosts);
  const known = { ...planeKinds, ControlPlane: { ...planeKinds.ControlPlane, parse } };
  const watched = (kind: PlaneResource["kind"], namespaces: readonly string[]) =>
    new WatchedKind<PlaneResource, ControlPlaneStatus>(known[kind], {
      ...options,
      namespaces,
      gaps: options.gaps.get(kind),
      keysOf: (resource) => [queueKeyOf(idOfPlane(resource))],
      onChange: (key) => planes.of(idOfPlane({ kind, key })),
    });
  const kinds = {
    ControlPlane: watched("ControlPlane", config.watchNamespaces),
    ClusterControlPlane: watched("ClusterControlPlane", []),
  };
  const kindOf = (planeId: string) => {
    const kind = kindOfPlane(planeId);
    return kind && kinds[kind];
  };
  const planes: Planes = new Planes({
    ...options,
    secrets,
    settings: settingsSource(options, secrets),
    grantMode: config.projectGrants,
    tenantHosts: config.tenantHosts,
    mayRecordOfCluster: config.watchNamespaces.length === 0,
    storeOf: (planeId) => kindOf(planeId)?.store,
    isWatched: (planeId) => kindOf(planeId)?.gapIn(namespaceOfPlane(planeId)) === undefined,
  });
  return { planes, kinds: Object.values(kinds) };
}

function settingsSource(options: ControlPlanesOptions, secrets: SecretReads): PlaneSource {
  const { controlPlaneUrl: url, databasePort: port, databaseSslMode: sslMode } = options.config;
  const databases = { port, sslMode, certificateAuthority: options.databaseAuthority };
  return { url, databases, place: "", mayBeNearby: true, ...keyOfSettings(options, secrets) };
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
  const { readKey: secret, keyAgainMs } = keyInSecrets(secrets, { ...apiKey.secret, namespace: connection.namespace });
  const message = "cannot read the API key from its Secret; the operator uses the mounted file";
  const readKey = keyInSecretOrFile(secret, file, (reason) => logger.warn({ reason }, message));
  return { readKey, keyAgainMs };
}
