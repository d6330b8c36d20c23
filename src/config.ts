/** The settings of the operator: their environment variables, defaults and checks. */
import { z } from "zod";

/** The source of the API key of the control plane. A changed file takes effect without a restart. */
export type ApiKeySource =
  | { readonly kind: "File"; readonly path: string; readonly secret: SecretName | undefined }
  | { readonly kind: "Value"; readonly value: string };

/** The Secret that the API key's file is mounted from, in the operator's own namespace. */
export interface SecretName {
  readonly name: string;
  readonly key: string;
}

/** The settings are wrong. The message names each wrong setting in one line; it never contains the API key. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** An empty variable counts as not set, because deployment templates write it like that. */
export type Environment = Readonly<Record<string, string | undefined>>;

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const subdomain = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const hostAndPort = /^(?:\[(?<ipv6>[0-9a-fA-F:.]+)\]|(?<host>[A-Za-z0-9._-]+)):(?<port>\d{1,5})$/;
const printable = /^[\x21-\x7e]+$/;
const plainNumber = /^\d+(\.\d+)?$/;

/** `right` describes a valid value for the error message; `describe` adds the value that was given. */
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

const oneOf = <Value extends string>(...values: readonly Value[]) =>
  setting(`must be one of ${values.join(", ")}`, (text) => values.find((value) => value === text));

const urlRule = "must be an http or https URL that ends in /v2, without user, query or fragment";
const serviceUrl = setting(urlRule, (text) => parsePlainUrl(text)?.match(/.*\/v2$/)?.[0]);
/** Without a scheme it is http, as for curl. */
const proxyUrl = (text: string) => httpUrl(/^\w+:\/\//.test(text) ? text : `http://${text}`)?.href;
const address = setting("must be host:port, for instance 0.0.0.0:8080 or [::]:8080", parseAddress);

/** Each setting: the name of its environment variable, and its schema. A duration is in milliseconds. */
const settings = {
  /** Base URL of the control plane without a trailing slash; ends in `/v2`. */
  controlPlaneUrl: ["CONTROL_PLANE_URL", required(serviceUrl, urlRule)],
  apiKeyFile: ["CONTROL_PLANE_API_KEY_FILE", z.string().optional()],
  apiKeySecret: [
    "CONTROL_PLANE_API_KEY_SECRET",
    setting("must be SECRET/KEY, for instance control-plane-api-key/api-key", parseSecretName).optional(),
  ],
  apiKeyValue: [
    "CONTROL_PLANE_API_KEY",
    matching("must be visible ASCII characters without blanks or line ends", printable).optional(),
  ],
  /** Paths of kubeconfig files, as KUBECONFIG lists them. `undefined`: the usual loading rules apply. */
  kubeconfig: ["KUBECONFIG", z.string().optional()],
  /** The watched namespaces. Empty: all namespaces. */
  watchNamespaces: [
    "WATCH_NAMESPACES",
    setting("must be namespace names separated by commas", (text) => parseList(text, namespaceOf)).default([]),
  ],
  metricsAddress: ["METRICS_ADDR", address.default({ host: "0.0.0.0", port: 8080 })],
  /** Whether a scrape needs a bearer token that the API server accepts. */
  metricsAuth: ["METRICS_AUTH", oneOf("None", "Token").default("None")],
  healthAddress: ["HEALTH_ADDR", address.default({ host: "0.0.0.0", port: 8081 })],
  logLevel: ["LOG_LEVEL", oneOf("fatal", "error", "warn", "info", "debug", "trace", "silent").default("info")],
  /** The maximum number of requests to the API server at the same time. */
  workers: ["WORKERS", wholeNumber(1, 256).default(16)],
  operationPollMs: ["OPERATION_POLL_SECONDS", seconds(0.1, 600).default(5_000)],
  projectPollMs: ["PROJECT_POLL_SECONDS", seconds(0.1, 3_600).default(30_000)],
  resyncMs: ["RESYNC_SECONDS", seconds(1, 86_400).default(600_000)],
  /** What a namespace without the grant annotation may do. docs/settings.md describes the modes. */
  projectGrants: ["PROJECT_GRANTS", oneOf("Required", "Open", "WhenUsed").default("WhenUsed")],
  leaderElection: [
    "LEADER_ELECTION",
    setting("must be true or false", (text) => ({ true: true, false: false })[text]).default(true),
  ],
  /** The namespace of the Lease. `undefined`: the operator's own namespace, or `default` outside a cluster. */
  leaseNamespace: ["LEASE_NAMESPACE", matching("must be a namespace name", label).optional()],
  leaseName: [
    "LEASE_NAME",
    matching("must be a name as Kubernetes allows them", subdomain).default("endpoint-operator"),
  ],
  /** The cluster's id in ownership records. `undefined`: the uid of the namespace kube-system. */
  clusterId: ["CLUSTER_ID", matching("must be 1 to 128 visible ASCII characters", /^[\x21-\x7e]{1,128}$/).optional()],
  createSettleMs: ["CREATE_SETTLE_SECONDS", seconds(0.1, 3_600).default(150_000)],
  requestsPerMinute: ["CONTROL_PLANE_REQUESTS_PER_MINUTE", wholeNumber(10, 1_000_000).default(700)],
  requestsPerSecond: ["CONTROL_PLANE_REQUESTS_PER_SECOND", wholeNumber(1, 100_000).default(40)],
  /** May hold a password, so it is never logged. `undefined`: control planes are reached directly. */
  httpsProxy: ["HTTPS_PROXY", setting("must be an http or https URL", proxyUrl).optional()],
  noProxy: ["NO_PROXY", z.string().default("")],
  /** In lower case; `*.` stands for every subdomain. `undefined`: all hosts except loopback and link-local ones. */
  tenantHosts: [
    "TENANT_CONTROL_PLANE_HOSTS",
    setting("must be host names or addresses separated by commas, without ports", (text) =>
      parseList(text, hostOf),
    ).optional(),
  ],
  databasePort: ["DATABASE_PORT", wholeNumber(1, 65_535).default(5432)],
  /** The value of libpq's `sslmode` in the Secrets of applications, one that always encrypts. */
  databaseSslMode: ["DATABASE_SSL_MODE", oneOf("require", "verify-ca", "verify-full").default("require")],
  /** The path of a file with the certificate authority of the databases. `undefined`: public authorities are used. */
  databaseCaFile: ["DATABASE_CA_FILE", z.string().optional()],
  /** Base URL of the receiver of traces, without a trailing slash. `undefined`: no tracing. */
  tracesEndpoint: [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    setting("must be an http or https URL without user, query or fragment", parsePlainUrl).optional(),
  ],
} as const satisfies Readonly<Record<string, readonly [variable: string, schema: z.ZodType]>>;

const settingsSchema = z.object(Object.fromEntries(Object.entries(settings).map(([name, [, one]]) => [name, one])));

/** The names of all environment variables, in the order of docs/settings.md. */
export const settingVariables: readonly string[] = Object.values(settings).map(([variable]) => variable);

type SettingName = keyof typeof settings;
type Settings = { readonly [Name in SettingName]: z.output<(typeof settings)[Name][1]> };
type Given = Readonly<Record<string, string | undefined>>;

export interface Config extends Omit<Settings, "apiKeyFile" | "apiKeySecret" | "apiKeyValue"> {
  readonly apiKey: ApiKeySource;
}

/** Settings whose values are never printed, because they may contain the API key. */
const hiddenSettings: ReadonlySet<SettingName> = new Set(["apiKeyValue", "apiKeyFile"]);

/** Does not read the file of the API key. @throws ConfigError with every wrong setting. @see docs/settings.md */
export function parseConfig(environment: Environment): Config {
  const { apiKeyFile: path, apiKeySecret: secret, apiKeyValue: value = "", ...rest } = parseSettings(environment);
  const apiKey: ApiKeySource = path === undefined ? { kind: "Value", value } : { kind: "File", path, secret };
  return Object.freeze({ ...rest, apiKey });
}

function parseSettings(environment: Environment): Settings {
  const texts = Object.entries(settings).map(([name, [variable]]) => [name, environment[variable]?.trim()] as const);
  const given: Given = Object.fromEntries(texts.filter(([, text]) => text));
  const parsed = settingsSchema.safeParse(given);
  const values = parsed.data as Settings | undefined;
  const problems = [
    ...(parsed.error?.issues ?? []).map(({ path, message }) => describe(path[0] as SettingName, message, given)),
    ...apiKeyProblems(environment),
    ...(values === undefined ? [] : addressProblems(values)),
  ];
  if (values === undefined || problems.length > 0) {
    throw new ConfigError(`bad configuration:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
  }
  return values;
}

function apiKeyProblems(environment: Environment): string[] {
  const { CONTROL_PLANE_API_KEY_FILE: file, CONTROL_PLANE_API_KEY: key } = environment;
  const both = `CONTROL_PLANE_API_KEY_FILE and CONTROL_PLANE_API_KEY are both ${file ? "set" : "missing"}`;
  return Boolean(file) === Boolean(key) ? [`${both}; exactly one of them must be set`] : [];
}

function addressProblems({ metricsAddress: metrics, healthAddress: health }: Settings): string[] {
  const isSame = metrics !== undefined && metrics.port === health?.port && metrics.host === health.host;
  return isSame && metrics.port !== 0 ? ["METRICS_ADDR and HEALTH_ADDR are the same; they must differ"] : [];
}

function describe(name: SettingName, right: string, given: Given): string {
  const value = given[name];
  return `${settings[name][0]} is ${value ? shown(name, value, given) : "not set"}; it ${right}`;
}

/** An API key in the wrong setting, or a user and password inside a URL, must not reach the log. */
function shown(name: SettingName, value: string, { apiKeyValue: key }: Given): string {
  const holdsSecret = value.includes("@") || (key !== undefined && value.includes(key));
  const isHidden = hiddenSettings.has(name) || holdsSecret;
  const start = value.length > 80 ? `${value.slice(0, 80)}…` : value;
  return isHidden ? "set to a value that is not shown here" : JSON.stringify(start);
}

function numberWithin(text: string, least: number, most: number, form: RegExp): number | undefined {
  const value = Number(text);
  return form.test(text) && value >= least && value <= most ? value : undefined;
}

function httpUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** Without a trailing slash; `undefined`: it is not http or https, or has a user, a query or a fragment. */
function parsePlainUrl(text: string): string | undefined {
  const url = httpUrl(text);
  const hasMore = url === undefined || url.username !== "" || url.password !== "" || /[?#]/.test(text);
  return hasMore ? undefined : `${url.origin}${url.pathname.replace(/\/$/, "")}`;
}

/** An IPv6 address is returned without brackets. With port 0 the system chooses a port. */
function parseAddress(text: string) {
  const parts = hostAndPort.exec(text)?.groups;
  const host = parts?.ipv6 ?? parts?.host;
  const port = Number(parts?.port);
  return host !== undefined && port <= 65_535 ? { host, port } : undefined;
}

function parseSecretName(text: string): SecretName | undefined {
  const [name = "", key = "", ...more] = text.split("/");
  return subdomain.test(name) && /^[-._a-zA-Z0-9]+$/.test(key) && more.length === 0 ? { name, key } : undefined;
}

/** Parses entries separated by commas. @returns `undefined` if one of them is wrong */
function parseList(text: string, parse: (entry: string) => string | undefined): string[] | undefined {
  const names = text.split(",").map((entry) => parse(entry.trim()));
  return names.every((name) => name !== undefined) ? [...new Set(names)] : undefined;
}

function namespaceOf(entry: string): string | undefined {
  return label.test(entry) ? entry : undefined;
}

/** As a parsed URL shows the host. An IPv6 address stands in brackets. */
function hostOf(entry: string): string | undefined {
  const [, wildcard = "", name = ""] = /^(\*\.)?([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])$/.exec(entry) ?? [];
  const url = URL.parse(`http://${name}/`);
  return url === null ? undefined : `${wildcard}${url.hostname.replace(/\.$/, "")}`;
}
