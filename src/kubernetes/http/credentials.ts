/** The credentials for the API server, and the connections made with them. */
import { existsSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { delimiter } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { KubeConfig } from "@kubernetes/client-node";
import type { Clock } from "../../domain/clock.ts";
import { KubernetesError } from "../../domain/resource-store.ts";
import { createCallDeadline, untilAborted } from "../../http/call-deadline.ts";
import { createAgent, type HttpDispatcher, type TlsMaterial } from "../../http/transport.ts";

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly transport: TransportOptions;
}

export interface TransportOptions {
  readonly tls: TlsMaterial;
  readonly proxyUrl: string | undefined;
}

/** A source of credentials. They change while the operator runs: tokens are rotated and certificates renewed. */
export interface CredentialSource {
  /** The base URL of the API server, without a trailing slash. */
  readonly server: string;
  /** The namespace of the kubeconfig's context, or of the operator's own pod; `default` if there is none. */
  readonly namespace: string;
  /** Returns the present credentials. @throws Error when a file cannot be read or a plugin fails */
  current(): Promise<Credentials>;
  /** Reads the configuration again, for the next `current()`. @throws Error when it cannot be read; it stays as it is */
  reload(): void;
}

/** The kubeconfig is missing or cannot be used, so the settings are wrong. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

/**
 * Loads credentials by the rules of the Kubernetes client library. It uses the first of these: KUBECONFIG,
 * `~/.kube/config`, the service account of the pod.
 * Tokens, client certificates, exec plugins, OIDC and service-account files work as in the library. The library reads a
 * service-account token again every minute.
 * @param load how to read the configuration. @default the library's own rules
 * @throws KubeconfigError when no configuration was found or it cannot be used.
 */
export function loadCredentialSource(load: () => KubeConfig = loadByClientRules): CredentialSource {
  let config = loadOrExplain(load);
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    throw new KubeconfigError("the kubeconfig's current context names no cluster");
  }
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace?.trim();
  return {
    server: cluster.server.replace(/\/+$/, ""),
    namespace: namespace || "default",
    current: () => credentialsOf(config),
    reload() {
      config = load();
    },
  };
}

function loadOrExplain(load: () => KubeConfig): KubeConfig {
  try {
    return load();
  } catch (error) {
    if (error instanceof KubeconfigError) throw error;
    throw new KubeconfigError(`the kubeconfig cannot be used: ${firstLine(error)}`, { cause: error });
  }
}

/** @param listed the value of KUBECONFIG. @param context @default the current context of the files */
export function loaderOf(listed = "", context?: string): () => KubeConfig {
  const files = listed.split(delimiter).filter((file) => file !== "");
  return () => {
    const config = files.length > 0 ? mergedFiles(files) : loadByClientRules();
    if (context !== undefined) config.setCurrentContext(context);
    return config;
  };
}

function loadByClientRules(): KubeConfig {
  const config = new KubeConfig();
  config.loadFromDefault();
  // The library uses this address if it finds no configuration.
  if (config.getCurrentCluster()?.server === "http://localhost:8080") {
    throw new KubeconfigError("no API server: set KUBECONFIG, or run in a pod with a service account");
  }
  return config;
}

/** Merges as kubectl does: the first file that has a name, or a current context, decides. Missing files are left out. */
function mergedFiles(files: readonly string[]): KubeConfig {
  const all = files
    .filter((file) => existsSync(file))
    .map((file) => {
      const config = new KubeConfig();
      config.loadFromFile(file);
      return config;
    });
  if (all.length === 0) {
    throw new KubeconfigError(`none of the files that KUBECONFIG lists exists: ${files.join(", ")}`);
  }
  const firstOfName = <Item extends { readonly name: string }>(items: readonly Item[]): Item[] =>
    items.filter(({ name }, index) => items.findIndex((each) => each.name === name) === index);
  const merged = new KubeConfig();
  merged.loadFromOptions({
    clusters: firstOfName(all.flatMap(({ clusters }) => clusters)),
    users: firstOfName(all.flatMap(({ users }) => users)),
    contexts: firstOfName(all.flatMap(({ contexts }) => contexts)),
    currentContext: all.find(({ currentContext }) => currentContext)?.currentContext,
  });
  return merged;
}

async function credentialsOf(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers = Object.fromEntries(
    Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value).trim()]),
  );
  if (typeof options.auth === "string") {
    headers.authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  }
  return { headers, transport: transportOf(config, options) };
}

/** The operator makes the connections itself, because the library makes new ones for each request. */
function transportOf(config: KubeConfig, options: RequestOptions): TransportOptions {
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
  const all = Object.entries({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername });
  const tls = Object.fromEntries(all.filter(([, value]) => value !== undefined)) as TlsMaterial;
  const proxyUrl = config.getCurrentCluster()?.proxyUrl;
  if (proxyUrl?.startsWith("socks") === true) {
    throw new KubeconfigError("a SOCKS proxy in the kubeconfig is not supported");
  }
  return { tls, proxyUrl };
}

function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split("\n", 1)[0] ?? "";
}

export interface Session {
  readonly credentials: Credentials;
  readonly dispatcher: HttpDispatcher;
  readonly readAtMs: number;
  readonly isRefused?: boolean;
}

/**
 * Credentials older than this are read again before the next call, in milliseconds. The Kubernetes client library
 * itself keeps a plugin's token until it expires.
 */
const credentialsAgeMs = 10_000;

/** In milliseconds. After it, the next call runs a hanging plugin again. */
const credentialsTimeoutMs = 30_000;

const connectTimeoutMs = 10_000;

/** Credentials that are old or that the API server refused are read again. */
export class Sessions {
  readonly #source: CredentialSource;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  #session: Session | undefined;
  #opening: Promise<Session> | undefined;
  #reloadedAtMs = Number.NEGATIVE_INFINITY;

  constructor(source: CredentialSource, clock: Clock, closing: AbortSignal) {
    this.#source = source;
    this.#clock = clock;
    this.#closing = closing;
  }

  /** @throws KubernetesError when the credentials cannot be read; GivenUpError when that takes too long */
  async current(timeoutMs: number): Promise<Session> {
    const session = this.#session;
    if (session && !session.isRefused && this.#clock.monotonicMs() - session.readAtMs < credentialsAgeMs) {
      return session;
    }
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return await this.#within(timeoutMs, this.#opening);
  }

  /** After a 401 the next call reads the credentials again. Within ten seconds, further 401s change nothing. */
  renew(refused: Session): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#session !== refused || nowMs - this.#reloadedAtMs < credentialsAgeMs) {
      return;
    }
    this.#reloadedAtMs = nowMs;
    this.#session = { ...refused, isRefused: true };
  }

  async close(): Promise<void> {
    await this.#session?.dispatcher.destroy();
  }

  async #open(): Promise<Session> {
    const credentials = await this.#readCredentials();
    const before = this.#session;
    const isSame = isDeepStrictEqual(before?.credentials.transport, credentials.transport);
    const dispatcher =
      before !== undefined && isSame ? before.dispatcher : createAgent(credentials.transport, connectTimeoutMs);
    if (!isSame) {
      // Calls in progress finish over the former connections, and a watch keeps its one until it is opened again.
      void before?.dispatcher.close();
    }
    this.#session = { credentials, dispatcher, readAtMs: this.#clock.monotonicMs() };
    return this.#session;
  }

  async #readCredentials(): Promise<Credentials> {
    try {
      if (this.#session?.isRefused) this.#source.reload();
      return await this.#within(credentialsTimeoutMs, this.#source.current());
    } catch (error) {
      // The plugin's output may hold a secret, so it stays in the error's cause.
      const message = `cannot reach the API server: ${missingProgram(error) ?? "the credentials of the kubeconfig or pod cannot be read"}`;
      throw new KubernetesError("Unauthorized", message, { cause: error });
    }
  }

  async #within<Value>(timeoutMs: number, value: Promise<Value>): Promise<Value> {
    const deadline = createCallDeadline(this.#clock, timeoutMs, [this.#closing]);
    try {
      return await untilAborted(deadline.signal, value);
    } finally {
      deadline.end();
    }
  }
}

/** Explains an exec plugin that cannot be started. @returns `undefined` for any other error */
function missingProgram(error: unknown): string | undefined {
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  return code === "ENOENT" && syscall?.startsWith("spawn")
    ? `the kubeconfig gets its credentials from the program ${path}, which is not on PATH; install it, or use a kubeconfig without it`
    : undefined;
}

/**
 * Returns the operator's service account as `namespace:name`, for the commands in conditions. The token of a pod names
 * the account. For other credentials it returns the name of the shipped account in the operator's own namespace. Never
 * throws.
 */
export async function readOwnAccount(credentials: CredentialSource): Promise<string> {
  const shipped = `${credentials.namespace}:endpoint-operator`;
  try {
    const { headers } = await credentials.current();
    const [, payload = ""] = (headers.authorization ?? "").split(".");
    const { sub } = JSON.parse(Buffer.from(payload, "base64url").toString()) as { readonly sub?: unknown };
    return /^system:serviceaccount:([a-z0-9.-]+:[a-z0-9.-]+)$/.exec(String(sub))?.[1] ?? shipped;
  } catch {
    return shipped;
  }
}
