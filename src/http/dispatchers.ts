import { Agent, type buildConnector, Client, type Dispatcher, Pool, ProxyAgent } from "undici";

/*
 * The connections of the operator, over undici. HTTP/1.1 with one request at a time on a connection: a lost connection
 * then costs one call, and a half-open one does not delay the others.
 */

/** Sends requests over connections of its own. */
export type HttpDispatcher = Dispatcher;

/** CA, client certificate and the like; empty for the roots of the system. */
export type TlsMaterial = Partial<buildConnector.BuildOptions>;

const common = { allowH2: false, keepAliveTimeout: 30_000, pipelining: 1 } as const;

/** Below the idle limits of the usual load balancers. */
const keepAliveProbe = { keepAlive: true, keepAliveInitialDelay: 30_000, allowH2: false } as const;

/** A pool of kept connections to one origin. */
export function createPool(
  origin: string,
  limits: { readonly connectTimeoutMs: number; readonly connections: number },
) {
  const { connectTimeoutMs, connections } = limits;
  return new Pool(origin, { ...common, connect: { timeout: connectTimeoutMs }, connections });
}

/** One connection to one origin. */
export function createSingle(origin: string, limits: { readonly connectTimeoutMs: number }): HttpDispatcher {
  return new Client(origin, { ...common, connect: { timeout: limits.connectTimeoutMs } });
}

/** Kept connections with TLS material, directly or through an HTTP proxy. @param route.proxyUrl `undefined`: directly */
export function createAgent(
  route: { readonly tls: TlsMaterial; readonly proxyUrl: string | undefined },
  limits: { readonly connectTimeoutMs: number },
): HttpDispatcher {
  const { tls, proxyUrl } = route;
  const socket = { ...keepAliveProbe, timeout: limits.connectTimeoutMs };
  return proxyUrl === undefined
    ? new Agent({ ...common, connect: { ...socket, ...tls } })
    : new ProxyAgent({ ...common, uri: proxyUrl, requestTls: { ...socket, ...tls }, connect: socket });
}
