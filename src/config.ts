import { z } from "zod";

/** The source of the API key of the control plane. A file is read again when it changes. */
export type ApiKeySource =
  | { readonly kind: "File"; readonly path: string; readonly secret: SecretName | undefined }
  | { readonly kind: "Value"; readonly value: string };

/** The Secret that the API key's file is mounted from, in the operator's own namespace. */
export interface SecretName {
  readonly name: string;
  /** The key of the value inside the Secret. */
  readonly key: string;
}

/** An address to listen on. With port 0 the system chooses a port. */
export interface ListenAddress {
  /** A host name or IP address, an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** What a namespace without the grant annotation may do. docs/settings.md describes the modes. */
export const projectGrantModes = ["Required", "Open", "WhenUsed"] as const;
export type ProjectGrantMode = (typeof projectGrantModes)[number];

/** Whether a scrape needs a bearer token of the Kubernetes API server. */
export const metricsAuthModes = ["None", "Token"] as const;
export type MetricsAuthMode = (typeof metricsAuthModes)[number];

/** The log levels of pino. */
export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Every setting of the operator, checked and frozen. */
export interface Config {
  /** Base URL of the control plane without a trailing slash; ends in `/v2`. */
  readonly controlPlaneUrl: string;
  readonly apiKey: ApiKeySource;
  /** Paths of kubeconfig files, as KUBECONFIG lists them. `undefined`: the usual loading rules apply. */
  readonly kubeconfig: string | undefined;
  /** The watched namespaces. Empty: all namespaces. */
  readonly watchNamespaces: readonly string[];
  readonly metricsAddress: ListenAddress;
  readonly metricsAuth: MetricsAuthMode;
  readonly healthAddress: ListenAddress;
  readonly logLevel: LogLevel;
  /** The maximum number of reconciles at the same time. A reconcile that waits for the control plane does not count. */
  readonly workers: number;
  readonly operationPollMs: number;
  readonly projectPollMs: number;
  readonly resyncMs: number;
  readonly projectGrants: ProjectGrantMode;
  readonly leaderElection: boolean;
  /** The namespace of the Lease. `undefined`: the operator's own namespace, or `default` outside a cluster. */
  readonly leaseNamespace: string | undefined;
  readonly leaseName: string;
  /** The cluster's id in ownership records. `undefined`: the uid of the namespace kube-system. */
  readonly clusterId: string | undefined;
  readonly createSettleMs: number;
  /** The maximum number of requests to the control plane in any 60 seconds. */
  readonly requestsPerMinute: number;
  /** The maximum number of requests to the control plane in any second. */
  readonly requestsPerSecond: number;
  /** What the ControlPlanes of namespaces may ask for. */
  readonly tenantLimits: {
    /** Lower case; `*.` at the beginning stands for every subdomain. `undefined`: all but loopback and link-local. */
    readonly hosts: readonly string[] | undefined;
    readonly requestsPerMinute: number;
    readonly planesPerNamespace: number;
  };
  /** The port at which clients reach databases. */
  readonly databasePort: number;
  /** The value of `sslmode` in the Secrets of applications. */
  readonly databaseSslMode: string;
  /** The path of a file with the certificate authority of the databases. `undefined`: public authorities are used. */
  readonly databaseCaFile: string | undefined;
  /** Base URL of the receiver of traces, without a trailing slash. `undefined`: no tracing. */
  readonly tracesEndpoint: string | undefined;
}

/** The settings are wrong. The message names each wrong setting in one line; it never contains the API key. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * Environment variables by name. An empty variable counts as not set, because deployment templates write it like that.
 */
export type Environment = Readonly<Record<string, string | undefined>>;

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const subdomain = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const hostAndPort = /^(?:\[(?<ipv6>[0-9a-fA-F:.]+)\]|(?<host>[A-Za-z0-9._-]+)):(?<port>\d{1,5})$/;
const printable = /^[\x21-\x7e]+$/;
const plainNumber = /^\d+(\.\d+)?$/;

/** Makes the parser of one setting. Its error message describes a valid value; `describe` adds the given one. */
const setting = <Value>(right: string, parse: (text: string) => Value | undefined) =>
  z.string().transform((text, context): Value => {
    const value = parse(text);
    if (value === undefined) {
      context.addIssue({ code: "custom", message: right });
      return z.NEVER;
    }
    return value;
  });

const required = <Value>(schema: z.ZodType<Value, string>, right: string) =>
  z.preprocess((text) => text ?? "", z.string().min(1, { message: right, abort: true }).pipe(schema));

const matching = (right: string, pattern: RegExp) => setting(right, (text) => (pattern.test(text) ? text : undefined));

const wholeNumber = (least: number, most: number) =>
  setting(`must be a whole number from ${least} to ${most}`, (text) => numberWithin(text, least, most, /^\d+$/));

/** Parses a setting in seconds and returns milliseconds. */
const seconds = (least: number, most: number) =>
  setting(`must be seconds as a number from ${least} to ${most}`, (text) => {
    const value = numberWithin(text, least, most, plainNumber);
    return value === undefined ? undefined : Math.round(value * 1000);
  });

const urlRule = "must be an http or https URL that ends in /v2, without user, query or fragment";
const receiverRule = "must be an http or https URL without user, query or fragment";
const addressRule = "must be host:port, for instance 0.0.0.0:8080 or [::]:8080";
const controlPlaneUrl = setting(urlRule, parseServiceUrl);
const receiverUrl = setting(receiverRule, parsePlainUrl);
const address = setting(addressRule, parseAddress);
const secretName = setting("must be SECRET/KEY, for instance control-plane-api-key/api-key", parseSecretName);
const namespaces = setting("must be namespace names separated by commas", parseNamespaces);
const hosts = setting("must be host names or addresses separated by commas, without ports", parseHosts);
const levels: readonly string[] = logLevels;

/** The values of libpq's `sslmode` that always encrypt. */
const sslModes = ["require", "verify-ca", "verify-full"] as const;

const environmentSchema = z.object({
  CONTROL_PLANE_URL: required(controlPlaneUrl, urlRule),
  CONTROL_PLANE_API_KEY_FILE: z.string().optional(),
  CONTROL_PLANE_API_KEY_SECRET: secretName.optional(),
  CONTROL_PLANE_API_KEY: matching("must be visible ASCII characters without blanks or line ends", printable).optional(),
  KUBECONFIG: z.string().optional(),
  WATCH_NAMESPACES: namespaces.default([]),
  METRICS_ADDR: address.default({ host: "0.0.0.0", port: 8080 }),
  METRICS_AUTH: setting(`must be one of ${metricsAuthModes.join(", ")}`, (text) =>
    metricsAuthModes.find((mode) => mode === text),
  ).default("None"),
  HEALTH_ADDR: address.default({ host: "0.0.0.0", port: 8081 }),
  LOG_LEVEL: setting(`must be one of ${levels.join(", ")}`, (text) =>
    logLevels.find((level) => level === text),
  ).default("info"),
  WORKERS: wholeNumber(1, 256).default(16),
  OPERATION_POLL_SECONDS: seconds(0.1, 600).default(5_000),
  PROJECT_POLL_SECONDS: seconds(0.1, 3_600).default(30_000),
  RESYNC_SECONDS: seconds(1, 86_400).default(600_000),
  PROJECT_GRANTS: setting(`must be one of ${projectGrantModes.join(", ")}`, (text) =>
    projectGrantModes.find((mode) => mode === text),
  ).default("WhenUsed"),
  LEADER_ELECTION: setting("must be true or false", parseBoolean).default(true),
  LEASE_NAMESPACE: matching("must be a namespace name", label).optional(),
  LEASE_NAME: matching("must be a name as Kubernetes allows them", subdomain).default("endpoint-operator"),
  CLUSTER_ID: matching("must be 1 to 128 visible ASCII characters", /^[\x21-\x7e]{1,128}$/).optional(),
  CREATE_SETTLE_SECONDS: seconds(0.1, 3_600).default(150_000),
  CONTROL_PLANE_REQUESTS_PER_MINUTE: wholeNumber(10, 1_000_000).default(700),
  CONTROL_PLANE_REQUESTS_PER_SECOND: wholeNumber(1, 100_000).default(40),
  TENANT_CONTROL_PLANE_HOSTS: hosts.optional(),
  TENANT_CONTROL_PLANE_REQUESTS_PER_MINUTE: wholeNumber(10, 1_000_000).default(700),
  TENANT_CONTROL_PLANES_PER_NAMESPACE: wholeNumber(0, 1_000).default(10),
  DATABASE_PORT: wholeNumber(1, 65_535).default(5432),
  DATABASE_SSL_MODE: setting(`must be one of ${sslModes.join(", ")}`, (text) =>
    sslModes.find((mode) => mode === text),
  ).default("require"),
  DATABASE_CA_FILE: z.string().optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: receiverUrl.optional(),
});

type Settings = z.output<typeof environmentSchema>;
type SettingName = keyof typeof environmentSchema.shape;

/** Settings whose values are never printed, because they may contain the API key. */
const hiddenSettings: ReadonlySet<string> = new Set(["CONTROL_PLANE_API_KEY", "CONTROL_PLANE_API_KEY_FILE"]);

/**
 * Reads the settings from environment variables. Pure: it does not read the file of the API key.
 * @throws ConfigError that names every missing or wrong setting at once.
 * @see docs/settings.md
 */
export function parseConfig(environment: Environment): Config {
  const given = givenSettings(environment);
  const parsed = environmentSchema.safeParse(given);
  const problems = [
    ...(parsed.error?.issues ?? []).map((issue) => describe(String(issue.path[0]), issue.message, given)),
    ...apiKeyProblems(given),
    ...(parsed.success ? addressProblems(parsed.data) : []),
  ];
  if (!parsed.success || problems.length > 0) {
    throw badConfiguration(problems);
  }
  return configOf(parsed.data);
}

/** The settings by which a namespace may touch a project, for a program that is not the operator. @throws ConfigError */
export function parseGrantSettings(environment: Environment): Pick<Config, "projectGrants" | "watchNamespaces"> {
  const given = givenSettings(environment);
  const parsed = environmentSchema.pick({ PROJECT_GRANTS: true, WATCH_NAMESPACES: true }).safeParse(given);
  if (!parsed.success) {
    throw badConfiguration(parsed.error.issues.map((issue) => describe(String(issue.path[0]), issue.message, given)));
  }
  return { projectGrants: parsed.data.PROJECT_GRANTS, watchNamespaces: parsed.data.WATCH_NAMESPACES };
}

function givenSettings(environment: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(
    settingNames().flatMap((name) => (environment[name] ? [[name, environment[name].trim()]] : [])),
  );
}

function badConfiguration(problems: readonly string[]): ConfigError {
  return new ConfigError(`bad configuration:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
}

function settingNames(): readonly SettingName[] {
  return environmentSchema.keyof().options;
}

function configOf(settings: Settings): Config {
  const apiKey: ApiKeySource =
    settings.CONTROL_PLANE_API_KEY_FILE === undefined
      ? { kind: "Value", value: settings.CONTROL_PLANE_API_KEY ?? "" }
      : {
          kind: "File",
          path: settings.CONTROL_PLANE_API_KEY_FILE,
          secret: settings.CONTROL_PLANE_API_KEY_SECRET,
        };
  return Object.freeze({
    controlPlaneUrl: settings.CONTROL_PLANE_URL,
    apiKey: Object.freeze(apiKey),
    kubeconfig: settings.KUBECONFIG,
    watchNamespaces: Object.freeze(settings.WATCH_NAMESPACES),
    metricsAddress: Object.freeze(settings.METRICS_ADDR),
    metricsAuth: settings.METRICS_AUTH,
    healthAddress: Object.freeze(settings.HEALTH_ADDR),
    logLevel: settings.LOG_LEVEL,
    workers: settings.WORKERS,
    operationPollMs: settings.OPERATION_POLL_SECONDS,
    projectPollMs: settings.PROJECT_POLL_SECONDS,
    resyncMs: settings.RESYNC_SECONDS,
    projectGrants: settings.PROJECT_GRANTS,
    leaderElection: settings.LEADER_ELECTION,
    leaseNamespace: settings.LEASE_NAMESPACE,
    leaseName: settings.LEASE_NAME,
    clusterId: settings.CLUSTER_ID,
    createSettleMs: settings.CREATE_SETTLE_SECONDS,
    requestsPerMinute: settings.CONTROL_PLANE_REQUESTS_PER_MINUTE,
    requestsPerSecond: settings.CONTROL_PLANE_REQUESTS_PER_SECOND,
    tenantLimits: Object.freeze({
      hosts: settings.TENANT_CONTROL_PLANE_HOSTS,
      requestsPerMinute: settings.TENANT_CONTROL_PLANE_REQUESTS_PER_MINUTE,
      planesPerNamespace: settings.TENANT_CONTROL_PLANES_PER_NAMESPACE,
    }),
    databasePort: settings.DATABASE_PORT,
    databaseSslMode: settings.DATABASE_SSL_MODE,
    databaseCaFile: settings.DATABASE_CA_FILE,
    tracesEndpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT,
  });
}

function apiKeyProblems(given: Readonly<Record<string, string>>): string[] {
  const hasFile = Boolean(given.CONTROL_PLANE_API_KEY_FILE);
  const hasValue = Boolean(given.CONTROL_PLANE_API_KEY);
  if (hasFile === hasValue) {
    const state = hasFile ? "are both set" : "are both missing";
    return [`CONTROL_PLANE_API_KEY_FILE and CONTROL_PLANE_API_KEY ${state}; exactly one of them must be set`];
  }
  return [];
}

function addressProblems(settings: Settings): string[] {
  const { METRICS_ADDR: metrics, HEALTH_ADDR: health } = settings;
  const isSame = metrics.port !== 0 && metrics.port === health.port && metrics.host === health.host;
  return isSame ? ["METRICS_ADDR and HEALTH_ADDR are the same; they must differ"] : [];
}

function describe(name: string, right: string, given: Readonly<Record<string, string>>): string {
  const value = given[name];
  return value ? `${name} is ${shown(name, value, given)}; it ${right}` : `${name} is not set; it ${right}`;
}

/**
 * Returns a setting's value for an error message. An API key in the wrong setting, or a user and password inside a URL,
 * must not reach the log.
 */
function shown(name: string, value: string, given: Readonly<Record<string, string>>): string {
  const key = given.CONTROL_PLANE_API_KEY;
  const holdsSecret = value.includes("@") || (key !== undefined && value.includes(key));
  if (hiddenSettings.has(name) || holdsSecret) {
    return "set to a value that is not shown here";
  }
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
}

function numberWithin(text: string, least: number, most: number, form: RegExp): number | undefined {
  const value = Number(text);
  return form.test(text) && value >= least && value <= most ? value : undefined;
}

function parseServiceUrl(text: string): string | undefined {
  const url = parsePlainUrl(text);
  return url?.endsWith("/v2") ? url : undefined;
}

/** Parses a URL; returns it without a trailing slash. */
function parsePlainUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    return undefined;
  }
  const hasMore = url.username !== "" || url.password !== "" || /[?#]/.test(text);
  return hasMore ? undefined : `${url.origin}${url.pathname.replace(/\/$/, "")}`;
}

function parseAddress(text: string): ListenAddress | undefined {
  const parts = hostAndPort.exec(text)?.groups;
  const host = parts?.ipv6 ?? parts?.host;
  const port = Number(parts?.port);
  return host !== undefined && port <= 65_535 ? { host, port } : undefined;
}

function parseSecretName(text: string): SecretName | undefined {
  const [name = "", key = "", ...more] = text.split("/");
  return subdomain.test(name) && /^[-._a-zA-Z0-9]+$/.test(key) && more.length === 0 ? { name, key } : undefined;
}

function parseNamespaces(text: string): string[] | undefined {
  const names = text.split(",").map((name) => name.trim());
  return names.every((name) => label.test(name)) ? [...new Set(names)] : undefined;
}

/** Parses hosts, and writes them as a parsed URL shows them. An IPv6 address stands in brackets. */
function parseHosts(text: string): string[] | undefined {
  const names = text.split(",").map((entry) => hostOf(entry.trim()));
  return names.every((name) => name !== undefined) ? [...new Set(names)] : undefined;
}

function hostOf(entry: string): string | undefined {
  const [, wildcard = "", name = ""] = /^(\*\.)?([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])$/.exec(entry) ?? [];
  return URL.canParse(`http://${name}/`)
    ? `${wildcard}${new URL(`http://${name}/`).hostname.replace(/\.$/, "")}`
    : undefined;
}

function parseBoolean(text: string): boolean | undefined {
  return text === "true" ? true : text === "false" ? false : undefined;
}
