/** An HTTP proxy that leads clients of the public API to the sandbox. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { TlsConnections } from "./tls-connections.ts";

/** The servers that answer the proxy's clients, and the host name for which they answer. */
export interface ProxyTarget {
  readonly http: Server;
  readonly encrypted: TlsConnections;
  /** The host name of the public API, such as `console.neon.tech`. */
  readonly hostName: string;
}

/** The time within which a client must send the headers of its request, in milliseconds. */
const arrivalLimitMs = 10_000;

/** The maximum number of connections to the proxy, including tunnels. */
const connectionLimit = 1024;

/**
 * An HTTP proxy for clients that can only use the address of the public API.
 * A tunnel to the host name of the public API ends in the sandbox, which shows a certificate for that name. Any other
 * target is refused with 403, so that no request leaves the machine.
 */
export class ConnectProxy {
  readonly #server: Server;
  readonly #target: ProxyTarget;

  constructor(target: ProxyTarget) {
    this.#target = target;
    this.#server = createServer({
      headersTimeout: arrivalLimitMs,
      requestTimeout: arrivalLimitMs * 3,
      connectionsCheckingInterval: 5_000,
    });
    this.#server.maxConnections = connectionLimit;
    this.#server.on("connect", (request, socket, head) => this.#tunnel(request, socket as Socket, head));
    this.#server.on("request", (request, response) => this.#forward(request, response));
  }

  /** Starts to listen. @returns the port. @throws Error when the address cannot be bound */
  async listen(host: string, port: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once("error", reject);
    this.#server.listen(port, host, resolve);
    await promise;
    this.#server.off("error", reject);
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Closes the port and every connection that is not a tunnel. It waits until the tunnels are closed, so call
   * `TlsConnections.close` first.
   */
  async close(): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    this.#server.closeAllConnections();
    await closed.promise;
  }

  #tunnel(request: IncomingMessage, socket: Socket, head: Buffer): void {
    // Without a listener, a connection error of one client would end the process.
    socket.on("error", () => socket.destroy());
    if (request.url?.toLowerCase() !== `${this.#target.hostName}:443`) {
      const body = bodyOf(this.#refusal(request.url ?? ""));
      const headers = `Content-Type: ${jsonType}\r\nContent-Length: ${body.length}\r\nConnection: close`;
      socket.write(`HTTP/1.1 403 Only to ${this.#target.hostName}:443\r\n${headers}\r\n\r\n${body}`);
      socket.destroySoon();
      return;
    }
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (head.length > 0) socket.unshift(head);
    this.#target.encrypted.take(socket);
  }

  /** Answers a request that a client sends to the proxy with its full URL, without CONNECT. */
  #forward(request: IncomingMessage, response: ServerResponse): void {
    const url = URL.parse(request.url ?? "");
    if (url?.hostname !== this.#target.hostName) {
      const body = bodyOf(this.#refusal(url?.host ?? request.url ?? ""));
      response.writeHead(403, { "content-type": jsonType, connection: "close" }).end(body);
      return;
    }
    request.url = url.pathname + url.search;
    request.headers.host = this.#target.hostName;
    this.#target.http.emit("request", request, response);
  }

  #refusal(target: string): string {
    const { hostName } = this.#target;
    return `the sandbox's proxy leads to ${hostName}:443 only, not to ${target.slice(0, 300)}; set NO_PROXY for other hosts`;
  }
}

const jsonType = "application/json; charset=utf-8";

function bodyOf(message: string): string {
  // The message contains text of the client. All characters outside ASCII are escaped, so the body has as many bytes as
  // characters.
  const text = JSON.stringify({ request_id: randomUUID(), code: "", message });
  return text.replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
