/** The proxy that injects faults between the operator and the API server. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Clock } from "../../../src/domain/clock.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { type ClientSockets, trackClientSockets } from "./client-sockets.ts";
import { EventHistory } from "./event-history.ts";
import { Exchange } from "./exchange.ts";
import { isStreamFault } from "./fault.ts";
import { type FaultRule, InjectedFault } from "./injected-fault.ts";
import { type ProxiedRequest, parseProxiedRequest } from "./proxied-request.ts";
import { createUpstream, type Upstream } from "./upstream.ts";
import { WatchStream } from "./watch-stream.ts";

/** The server behind the proxy. */
export interface FaultProxyOptions {
  /** The base URL of the server behind the proxy. */
  readonly target: string;
  /** PEM with which the certificate of the server behind the proxy is verified; `undefined`: plain HTTP. */
  readonly targetCa?: string;
  /** The certificate and key that clients see, as PEM. @default plain HTTP */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The clock for delays and for the times of requests. @default systemClock */
  readonly clock?: Clock;
}

/** The state of the proxy at one moment. */
export interface FaultProxyStats {
  /** The number of clients' connections so far. */
  readonly connections: number;
}

/**
 * A proxy that ends TLS and passes every request on with the client's own credentials. To chosen requests it does what
 * failing networks, load balancers and API servers do.
 */
export class FaultProxy {
  readonly url: string;
  /** Every request, oldest first. */
  readonly requests: ProxiedRequest[] = [];
  readonly #server: Server;
  readonly #upstream: Upstream;
  readonly #sockets: ClientSockets;
  readonly #clock: Clock;
  readonly #history = new EventHistory();
  readonly #streams = new Set<WatchStream>();
  /** The faults, oldest first. A removed fault applies to no further request. */
  readonly #injected: InjectedFault[] = [];

  private constructor(server: Server, options: FaultProxyOptions) {
    const { port } = server.address() as AddressInfo;
    this.url = `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
    this.#server = server;
    this.#upstream = createUpstream(options.target, options.targetCa);
    this.#sockets = trackClientSockets(server);
    this.#clock = options.clock ?? systemClock;
    server.on("request", (incoming, response) => void this.#serve(incoming, response));
  }

  static async start(options: FaultProxyOptions): Promise<FaultProxy> {
    const server = options.tls === undefined ? createServer() : createSecureServer(options.tls);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new FaultProxy(server, options);
  }

  /** How often all faults together had an effect, including those that were removed. */
  get bites(): number {
    return this.#injected.reduce((sum, { bites }) => sum + bites, 0);
  }

  /** Adds a fault. A fault of watches also applies to those that are open. */
  inject(rule: FaultRule): InjectedFault {
    const injected = new InjectedFault(rule);
    this.#injected.push(injected);
    for (const stream of [...this.#streams]) hitStream(stream, injected);
    return injected;
  }

  /** Removes all faults. Half-open connections stay half-open, as in reality. */
  quiet(): void {
    for (const injected of this.#injected) injected.lift();
  }

  stats(): FaultProxyStats {
    return { connections: this.#sockets.count };
  }

  async stop(): Promise<void> {
    this.quiet();
    this.#sockets.closeAll();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#upstream.close();
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket, method = "GET", url = "/" } = incoming;
    const { remotePort } = socket;
    const request = { ...parseProxiedRequest(method, url), atMs: this.#clock.monotonicMs(), remotePort };
    this.requests.push(request);
    const cut = () => this.#sockets.cut(socket);
    const exchange = new Exchange({
      ...{ request, incoming, response, cut, upstream: this.#upstream, clock: this.#clock },
      followWatch: (answer) => this.#followWatch({ request, response, cut }, answer),
    });
    const injected = this.#injected.find((each) => !isStreamFault(each.rule.fault) && each.draw(request));
    // The client has gone, or the server behind the proxy cannot be reached. In both cases this connection is of no
    // use.
    await exchange.serve(injected).catch(() => socket.destroy());
  }

  #followWatch(client: WatchClient, answer: IncomingMessage): void {
    const stream = new WatchStream({ ...client, history: this.#history, clock: this.#clock });
    this.#streams.add(stream);
    client.response.on("close", () => {
      stream.dispose();
      this.#streams.delete(stream);
      answer.destroy();
    });
    answer.setEncoding("utf8");
    answer.on("data", (chunk: string) => stream.receive(chunk));
    answer.on("end", () => stream.finish());
    answer.on("error", client.cut);
    for (const injected of [...this.#injected]) hitStream(stream, injected);
  }
}

interface WatchClient {
  readonly request: ProxiedRequest;
  readonly response: ServerResponse;
  readonly cut: () => void;
}

function hitStream(stream: WatchStream, injected: InjectedFault): void {
  const { fault } = injected.rule;
  // If the watch cannot be hit any more, the fault stays for the next one.
  if (isStreamFault(fault) && stream.isAlive && injected.draw(stream.request)) stream.hit(fault, injected);
}
