import type { DatabaseSettings } from "../../domain/control-plane.ts";
import type { SecretData } from "../../domain/resource-store.ts";
import type { BindingKey, DatabaseAccessSpec } from "../../resource/database-access-schema.ts";

export interface ConnectionHosts {
  readonly host: string;
  /** `undefined`: the control plane's host names do not show it. */
  readonly pooledHost: string | undefined;
  /** The host names of read replicas for direct connections, sorted. */
  readonly readHosts: readonly string[];
}

export interface Connection {
  readonly hosts: ConnectionHosts;
  readonly settings: DatabaseSettings;
  readonly spec: DatabaseAccessSpec;
  readonly password: string;
}

/** The type of the Secret. @see https://servicebinding.io/spec/core/1.1.0/ (read 2026-11-22) */
export const bindingSecretType = "servicebinding.io/postgresql";

/** The layout of the Service Binding specification. Keys without a value are absent. Pure. */
export function bindingOf(connection: Connection): SecretData {
  const values = bindingValues(connection);
  const { certificateAuthority } = connection.settings;
  const authority: SecretData =
    certificateAuthority === undefined
      ? {}
      : // kube-service-bindings reads `root.crt`; spring-cloud-bindings joins `sslrootcert` to the directory.
        { "ca.crt": certificateAuthority, "root.crt": certificateAuthority, sslrootcert: "ca.crt" };
  const templates = Object.entries(connection.spec.secret?.extraKeys ?? {});
  const extra = templates.map(([key, template]) => [key, expand(template, values)]);
  return { ...Object.fromEntries(extra), ...present(values), ...authority };
}

type BindingValues = Readonly<Record<BindingKey, string | undefined>>;

function bindingValues(connection: Connection): BindingValues {
  const { hosts, settings, spec, password } = connection;
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
    uri: uriOf(connection, [hosts.host]),
    "jdbc-url": `jdbc:postgresql://${hosts.host}:${port}/${encodeURIComponent(database)}?sslmode=${settings.sslMode}`,
    pgpass: `${[hosts.host, port, database, username, password].map(pgpassField).join(":")}\n`,
    "pooled-host": hosts.pooledHost,
    "pooled-uri": hosts.pooledHost === undefined ? undefined : uriOf(connection, [hosts.pooledHost]),
    "read-host": readHost,
    "read-uri": readHost === undefined ? undefined : uriOf(connection, [readHost]),
    "read-hosts": readHost === undefined ? undefined : hosts.readHosts.join(","),
    "read-uri-all":
      readHost === undefined
        ? undefined
        : `${uriOf(connection, hosts.readHosts)}&target_session_attrs=any&load_balance_hosts=random`,
  };
}

function uriOf({ settings, spec, password }: Connection, hosts: readonly string[]): string {
  const user = `${encodeURIComponent(spec.role.name)}:${encodeURIComponent(password)}`;
  const places = hosts.map((host) => `${host}:${settings.port}`).join(",");
  return `postgresql://${user}@${places}/${encodeURIComponent(spec.database.name)}?sslmode=${settings.sslMode}`;
}

function pgpassField(text: string): string {
  return text.replace(/[\\:]/g, "\\$&");
}

/** A placeholder without a value becomes an empty text. One with an unknown name stays as it is. */
function expand(template: string, values: BindingValues): string {
  return template.replace(/\$\{([a-z-]+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name as BindingKey] ?? "") : whole,
  );
}

function present(values: BindingValues): SecretData {
  return Object.fromEntries(Object.entries(values).flatMap(([key, text]) => (text === undefined ? [] : [[key, text]])));
}
