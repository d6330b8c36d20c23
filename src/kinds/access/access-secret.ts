/** The Secret of a DatabaseAccess: what it holds, and how it is read, tried and written. */
import {
  allowSecretsCommand,
  KubernetesError,
  type SecretData,
  type SecretStore,
  type StoredSecret,
  type WantedSecret,
} from "../../domain/resource-store.ts";
import { withoutLineBreak } from "../../domain/without-line-break.ts";
import { type DatabaseAccess, secretKeyOf } from "../../resource/database-access.ts";
import type { BindingKey, DatabaseAccessSpec } from "../../resource/database-access-schema.ts";
import { group, version } from "../../resource/names.ts";
import type {
  AccessContext,
  AccessObservation,
  AccessPlan,
  AppliedSecret,
  BoundEndpoint,
  SecretFacts,
} from "./access-types.ts";

/** @throws KubernetesError */
export async function readOwnSecret(secrets: SecretStore, resource: DatabaseAccess): Promise<SecretFacts> {
  try {
    const secret = await secrets.read(secretKeyOf(resource));
    if (secret === undefined) {
      return { kind: "Absent" };
    }
    return secret.ownerUids.includes(resource.uid) ? { kind: "Own", secret } : { kind: "Foreign" };
  } catch (error) {
    if (error instanceof KubernetesError && error.reason === "Forbidden") {
      return { kind: "Forbidden" };
    }
    throw error;
  }
}

/** Reads a person's password without its last line break; `undefined`: the Secret or its key does not exist. */
export async function readGivenPassword(
  secrets: SecretStore,
  { key: { namespace } }: DatabaseAccess,
  { name, key }: NonNullable<NonNullable<DatabaseAccessSpec["password"]>["secretRef"]>,
): Promise<string | undefined> {
  const text = (await secrets.read({ namespace, name }))?.data[key];
  return text === undefined ? undefined : withoutLineBreak(text);
}

/** What the operator lacks in the namespace of the resource, and the command that gives it. */
export function secretsForbidden({ key }: DatabaseAccess, account: string): string {
  return `The operator lacks the right to get, create, patch and delete Secrets in this namespace. Allow it with: ${allowSecretsCommand(key.namespace, account)}`;
}

/** @throws KubernetesError; `SecretsForbidden`, `SecretRefused`: the API server refuses the Secret */
export async function writeSecret(
  { secrets, observer }: AccessContext,
  observation: AccessObservation,
  { data, cause }: Pick<Extract<AccessPlan, { kind: "WriteSecret" }>, "data" | "cause">,
): Promise<AppliedSecret> {
  const written = secrets.write(wantedSecret(observation, data), heldSecret(observation));
  const { resourceVersion } = await withRemedy(observation, written);
  observer.secretWritten(cause);
  return { resourceVersion, cause };
}

/** Otherwise a refused Secret would hold a password that no longer works after the reset. @throws as `writeSecret` */
export async function trySecret({ secrets }: AccessContext, observation: AccessObservation): Promise<void> {
  const wanted = wantedSecret(observation, bindingOf(observation, trialPassword));
  await withRemedy(observation, secrets.tryWrite(wanted, heldSecret(observation)));
}

/** Stands for the password that the control plane makes next. */
const trialPassword = "x".repeat(32);

function heldSecret({ secret }: AccessObservation): StoredSecret | undefined {
  return secret.kind === "Own" ? secret.secret : undefined;
}

function wantedSecret({ resource, spec }: AccessObservation, data: SecretData): WantedSecret {
  const { labels = {}, annotations = {} } = spec.secret ?? {};
  const owner = { apiVersion: `${group}/${version}`, kind: resource.kind, name: resource.key.name, uid: resource.uid };
  return { key: secretKeyOf(resource), type: bindingSecretType, owner, labels, annotations, data };
}

function withRemedy<T>({ resource, account }: AccessObservation, written: Promise<T>): Promise<T> {
  return written.catch((error) => {
    if (!(error instanceof KubernetesError) || error.reason !== "Forbidden") throw error;
    throw new KubernetesError("SecretsForbidden", secretsForbidden(resource, account), { cause: error });
  });
}

export interface Connection extends Pick<AccessObservation, "settings" | "spec"> {
  readonly endpoint: Pick<BoundEndpoint, "hosts">;
}

/** The type of the Secret. @see https://servicebinding.io/spec/core/1.1.0/ (read 2026-11-22) */
const bindingSecretType = "servicebinding.io/postgresql";

/** The layout of the Service Binding specification. Keys without a value are absent. Pure. */
export function bindingOf(connection: Connection, password: string): SecretData {
  const values = bindingValues(connection, password);
  const { certificateAuthority } = connection.settings;
  const templates = Object.entries(connection.spec.secret?.extraKeys ?? {});
  const all = {
    ...Object.fromEntries(templates.map(([key, template]) => [key, expand(template, values)])),
    ...values,
    // kube-service-bindings reads `root.crt`; spring-cloud-bindings joins `sslrootcert` to the directory.
    "ca.crt": certificateAuthority,
    "root.crt": certificateAuthority,
    sslrootcert: certificateAuthority && "ca.crt",
  };
  return Object.fromEntries(Object.entries(all).flatMap(([key, text]) => (text === undefined ? [] : [[key, text]])));
}

type BindingValues = Readonly<Record<BindingKey, string | undefined>>;

function bindingValues(connection: Connection, password: string): BindingValues {
  const { endpoint, settings, spec } = connection;
  const { hosts } = endpoint;
  const [readHost] = hosts.readHosts;
  const port = String(settings.port);
  const database = spec.database.name;
  const username = spec.role.name;
  return {
    type: "postgresql",
    provider: "endpoint-operator",
    host: hosts.host,
    port,
    database,
    username,
    password,
    sslmode: settings.sslMode,
    uri: uriOf(connection, password, [hosts.host]),
    "jdbc-url": `jdbc:postgresql://${hosts.host}:${port}/${encodeURIComponent(database)}?sslmode=${settings.sslMode}`,
    pgpass: `${[hosts.host, port, database, username, password].map(pgpassField).join(":")}\n`,
    "pooled-host": hosts.pooledHost,
    "pooled-uri": hosts.pooledHost === undefined ? undefined : uriOf(connection, password, [hosts.pooledHost]),
    "read-host": readHost,
    "read-uri": readHost === undefined ? undefined : uriOf(connection, password, [readHost]),
    "read-hosts": readHost === undefined ? undefined : hosts.readHosts.join(","),
    "read-uri-all":
      readHost === undefined
        ? undefined
        : `${uriOf(connection, password, hosts.readHosts)}&target_session_attrs=any&load_balance_hosts=random`,
  };
}

function uriOf({ settings, spec }: Connection, password: string, hosts: readonly string[]): string {
  const user = `${encodeURIComponent(spec.role.name)}:${encodeURIComponent(password)}`;
  const places = hosts.map((host) => `${host}:${settings.port}`).join(",");
  return `postgresql://${user}@${places}/${encodeURIComponent(spec.database.name)}?sslmode=${settings.sslMode}`;
}

function pgpassField(text: string): string {
  return text.replace(/[\\:]/g, "\\$&");
}

/** A placeholder without a value becomes an empty text. Other placeholders are not allowed in spec. */
function expand(template: string, values: BindingValues): string {
  return template.replace(/\$\{([a-z-]+)\}/g, (_, name: BindingKey) => values[name] ?? "");
}
