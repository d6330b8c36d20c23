/** Loads the credentials for the API server. */
import type { RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node";
import type { TlsMaterial } from "../../http/transport.ts";

/** The credentials of one request to the API server. */
export interface Credentials {
  /** Header names and values. They hold an authorization, unless a client certificate is used. */
  readonly headers: Readonly<Record<string, string>>;
  /** The options of the connections. A connection is kept as long as they do not change. */
  readonly transport: TransportOptions;
}

/** The TLS material and the proxy of a connection. */
export interface TransportOptions {
  readonly tls: TlsMaterial;
  /** The URL of an HTTP proxy; `undefined`: a direct connection. */
  readonly proxyUrl: string | undefined;
}

/**
 * A source of credentials. They change while the operator runs, because tokens are rotated and certificates are
 * renewed.
 */
export interface CredentialSource {
  /** The base URL of the API server, without a trailing slash. */
  readonly server: string;
  /** The namespace of the kubeconfig's context, or of the operator's own pod; `default` if there is none. */
  readonly namespace: string;
  /** Returns the present credentials. @throws Error when a file cannot be read or a plugin fails */
  current(): Promise<Credentials>;
  /** Makes the next `current()` read everything again. */
  reload(): void;
}

/** The kubeconfig is missing or cannot be used, so the settings are wrong. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

/**
 * Loads credentials by the rules of the Kubernetes client: KUBECONFIG, `~/.kube/config`, the service account of the
 * pod.
 * Tokens, client certificates, exec plugins, OIDC and service-account files work as in the client. The client reads a
 * service-account token again every minute.
 * @param load how to read the configuration. @default the client's own rules
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
      // The file may be being replaced at this moment, which must not end the process. The old credentials are used
      // once more.
      try {
        config = load();
      } catch {
        return;
      }
    },
  };
}

function loadOrExplain(load: () => KubeConfig): KubeConfig {
  try {
    return load();
  } catch (error) {
    if (error instanceof KubeconfigError) {
      throw error;
    }
    throw new KubeconfigError(`the kubeconfig cannot be used: ${firstLine(error)}`, { cause: error });
  }
}

/** The address that the Kubernetes client uses if it finds no kubeconfig. */
const serverOfLastResort = "http://localhost:8080";

function loadByClientRules(): KubeConfig {
  const config = new KubeConfig();
  config.loadFromDefault();
  if (config.getCurrentCluster()?.server === serverOfLastResort) {
    throw new KubeconfigError("no API server: set KUBECONFIG, or run in a pod with a service account");
  }
  return config;
}

async function credentialsOf(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers = Object.fromEntries(
    Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value).trim()]),
  );
  const basic = typeof options.auth === "string" ? { authorization: basicAuthorization(options.auth) } : {};
  return { headers: { ...headers, ...basic }, transport: transportOf(config, options) };
}

function basicAuthorization(userAndPassword: string): string {
  return `Basic ${Buffer.from(userAndPassword).toString("base64")}`;
}

/**
 * Returns the transport options that the Kubernetes client computes. The operator makes the connections itself, because
 * the client makes new ones for each request.
 */
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
