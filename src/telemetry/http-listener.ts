import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";

/** The answer of a route. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
}

/** The part of a request that a route sees. */
export interface HttpRequest {
  /** The Accept header; empty when there is none. */
  readonly accept: string;
}

/** A small server for probes and scrapes. */
export interface HttpListenerOptions {
  /** The setting that contains the address; for messages. */
  readonly setting: string;
  /** Port 0 lets the system choose. */
  readonly address: { readonly host: string; readonly port: number };
  /** The routes for GET and HEAD, by exact path. */
  readonly routes: Readonly<Record<string, (request: HttpRequest) => Promise<HttpAnswer>>>;
  /** The server refuses connections beyond this number. @default 256 */
  readonly maxConnections?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A server that listens. */
export interface HttpListener {
  /** The port in use, also if the system chose it. */
  readonly port: number;
  /** Stops accepting, waits one second for answers in progress, and closes the connections that are left. Never rejects. */
  close(): Promise<void>;
}

/** A request has a few hundred bytes. */
const requestTimeoutMs = 5_000;
/** The server closes the connection of a reader that has not taken the whole answer by then. */
const writeTimeoutMs = 10_000;
const closeGraceMs = 1_000;

/**
 * Listens for GET and HEAD.
 *
 * @throws Error, with the setting and the address, when the address cannot be listened on.
 */
export async function startHttpListener(options: HttpListenerOptions): Promise<HttpListener> {
  const server = createServer(
    {
      headersTimeout: requestTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: requestTimeoutMs,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 8_192,
    },
    (request, response) => {
      void answer(request, options).then((result) => {
        // After the server has closed, a kept connection would only delay the end of the process.
        response.shouldKeepAlive &&= server.listening;
        send(response, result, options.clock);
      });
    },
  );
  server.maxConnections = options.maxConnections ?? 256;
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    close: () => close(server, options.clock),
  };
}

async function listen(server: Server, { address, setting }: HttpListenerOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(address.port, address.host, resolve);
  try {
    await promise;
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? "failed";
    throw new Error(`cannot listen on ${setting} ${address.host}:${address.port}: ${reason}`, { cause: error });
  } finally {
    server.off("error", reject);
  }
}

async function close(server: Server, clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeIdleConnections();
  const timer = clock.after(closeGraceMs, () => server.closeAllConnections());
  await promise;
  timer.cancel();
}

async function answer(request: IncomingMessage, options: HttpListenerOptions): Promise<HttpAnswer> {
  const { method, url = "", headers } = request;
  const path = url.split("?")[0] ?? "";
  const route = Object.hasOwn(options.routes, path) ? options.routes[path] : undefined;
  if (route === undefined) {
    return plainText(404, "not found\n");
  }
  if (method !== "GET" && method !== "HEAD") {
    return plainText(405, "only GET and HEAD are answered here\n");
  }
  try {
    return await route({ accept: headers.accept ?? "" });
  } catch (error) {
    options.logger.error({ path, error }, "answer to a probe or scrape failed");
    return plainText(500, "failed; the log says why\n");
  }
}

function send(response: ServerResponse, { status, contentType, body }: HttpAnswer, clock: Clock): void {
  const deadline = clock.after(writeTimeoutMs, () => response.destroy());
  response.once("close", () => deadline.cancel());
  const allow = status === 405 ? { allow: "GET, HEAD" } : {};
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(body), ...allow });
  response.end(body);
}

/** A short answer in plain text. */
export function plainText(status: number, body: string): HttpAnswer {
  return { status, contentType: "text/plain; charset=utf-8", body };
}
