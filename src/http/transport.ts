import { lookup as systemLookup } from "node:dns";
import { isIPv6, type LookupFunction } from "node:net";
import { Agent, buildConnector, Client, type Dispatcher, EnvHttpProxyAgent, ProxyAgent } from "undici";
import type { Clock } from "../domain/clock.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import { isNearbyHost } from "../domain/nearby-host.ts";
import { callEnded } from "./call-deadline.ts";
import { type AnswerHead, exchange, type HttpOutcome, type HttpRequest, headOf } from "./exchange.ts";

/** The proxy for https origins, and the hosts that are reached directly, as NO_PROXY lists them. */
export interface ProxySettings {
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

export interface HttpTransportOptions {
  readonly origin: string;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  readonly maxResponseBytes: number;
  readonly maxResponseValues: number;
  readonly connections: number;
  /** Whether a host name may lead to this machine or link. An address in `origin` is not checked. @default true */
  readonly mayBeNearby?: boolean | undefined;
  /** A proxy looks host names up itself. @default every connection is direct */
  readonly proxy?: ProxySettings | undefined;
  /** The leader fence, asked right before `sendFresh` sends a request. @default nothing is asked */
  readonly fence?: LeaderFence | undefined;
}

export type OriginRequest = Omit<HttpRequest, "origin">;

/** Sends the requests to one server: reads on kept connections, each write on a new one. Every exchange has limits. */
export class HttpTransport {
  readonly #options: HttpTransportOptions;
  readonly #connect: buildConnector.connector;
  readonly #kept: Dispatcher;

  constructor(options: HttpTransportOptions) {
    const { connectTimeoutMs: timeout, mayBeNearby = true } = options;
    this.#options = options;
    this.#connect = buildConnector({ allowH2: false, timeout, ...(!mayBeNearby && { lookup: farLookup() }) });
    this.#kept = this.#proxied() ?? new Agent({ ...common, connections: options.connections, connect: this.#connect });
  }

  /** The server may have closed the kept connection, so a `Lost` read is worth a second try. */
  sendPooled(request: OriginRequest, timeoutMs: number): Promise<HttpOutcome> {
    const { origin, ...limits } = this.#options;
    return exchange(this.#kept, { ...request, origin }, { ...limits, timeoutMs, fence: undefined });
  }

  /** If the server had closed a kept connection, it would be unknown whether a write was applied. */
  async sendFresh(request: OriginRequest, timeoutMs: number): Promise<HttpOutcome> {
    const { origin, ...limits } = this.#options;
    const connection = this.#proxied() ?? new Client(origin, { ...common, connect: this.#connect });
    try {
      return await exchange(connection, { ...request, origin }, { ...limits, timeoutMs, isLastOnConnection: true });
    } finally {
      // The close is not awaited, because the call must end at its deadline, whatever the socket does.
      void connection.destroy(callEnded);
    }
  }

  close(): Promise<void> {
    return this.#kept.destroy();
  }

  #proxied(): Dispatcher | undefined {
    const { connections, connectTimeoutMs: connectTimeout, proxy: { httpsProxy, noProxy = "" } = {} } = this.#options;
    const how = { ...common, connections, connectTimeout, connect: this.#connect };
    // An empty value, because undici would read the environment for a missing one.
    return httpsProxy === undefined ? undefined : new EnvHttpProxyAgent({ ...how, httpProxy: "", httpsProxy, noProxy });
  }
}

export interface StreamedAnswer extends AnswerHead {
  readonly body: AsyncIterable<Uint8Array>;
  text(): Promise<string>;
}

/** It sets no time limit: the caller ends request and body by the signal. @throws what undici throws */
export async function openStream(
  dispatcher: HttpDispatcher,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<StreamedAnswer> {
  const { statusCode, headers, body } = await dispatcher.request({
    ...request,
    headers: { ...request.headers },
    body: request.body ?? null,
    signal,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return { ...headOf(statusCode, headers), body, text: () => body.text() };
}

/* HTTP/1.1 with one request at a time: a connection that the server no longer answers delays no other call. */

export type HttpDispatcher = Dispatcher;

/** TLS options such as CA and client certificate; empty: the root certificates of the system are used. */
export type TlsMaterial = Partial<buildConnector.BuildOptions>;

const common = { allowH2: false, keepAliveTimeout: 30_000, pipelining: 1 } as const;

/** TCP keep-alive probes. Their interval is shorter than the idle limits of the usual load balancers. */
const keepAliveProbe = { keepAlive: true, keepAliveInitialDelay: 30_000, allowH2: false } as const;

/** @param route.proxyUrl `undefined`: directly */
export function createAgent(
  { tls, proxyUrl }: { readonly tls: TlsMaterial; readonly proxyUrl: string | undefined },
  connectTimeoutMs: number,
): HttpDispatcher {
  const socket = { ...keepAliveProbe, timeout: connectTimeoutMs };
  return proxyUrl === undefined
    ? new Agent({ ...common, connect: { ...socket, ...tls } })
    : new ProxyAgent({ ...common, uri: proxyUrl, requestTls: { ...socket, ...tls }, connect: socket });
}

/** Each connection looks its host up, and uses only checked addresses. Errors: `ERR_NEARBY_ADDRESS` if none is left. */
export function farLookup(resolve: typeof systemLookup = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (failure, addresses) => {
      if (failure !== null) {
        callback(failure, []);
        return;
      }
      const far = addresses.filter(({ address }) => !isNearbyHost(hostOf(address)));
      const [first] = far;
      if (first === undefined) {
        const error = new Error("every address of the host is on this machine or link");
        callback(Object.assign(error, { code: "ERR_NEARBY_ADDRESS" }), []);
      } else if (options.all === true) {
        callback(null, far);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}

function hostOf(address: string): string {
  const plain = address.replace(/%.*$/, "");
  return isIPv6(plain) ? new URL(`http://[${plain}]`).hostname : plain;
}
