/** Answers requests that never reach a route, because they are not valid HTTP or HTTP rules forbid them. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";
import { ApiError } from "./parts/errors.ts";

/**
 * A request with its response. `before`: the request before it on the same connection, if its answer is not sent yet.
 */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly before: Exchange | undefined;
}

/** The HTTP status by the code of the error that Node reports for the bytes of a client. All other codes get 400. */
const statusOfCode: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/**
 * Answers some requests in the sandbox's own error form. Node would answer them in another form, or not at all.
 * They are bytes that are not HTTP, requests that never end, and `CONNECT`. Others are an `Expect` header that the
 * sandbox cannot meet, and HTTP/1.1 requests without a `Host` header.
 */
export class GarbageAnswers {
  readonly #latest = new WeakMap<Socket, Exchange>();

  install(app: FastifyInstance): void {
    app.addHook("onRequest", (request, reply, done) => {
      this.#note(request.raw, reply.raw);
      const isNameless = request.raw.headers.host === undefined && request.raw.httpVersion === "1.1";
      done(isNameless ? new ApiError(400, "the request has no header Host") : undefined);
    });
    app.server.on("connect", (_request, socket: Duplex) => {
      socket.end(bytesOf("405 Method Not Allowed", "this route does not support the method CONNECT"));
    });
    app.server.on("checkExpectation", (_request, response: ServerResponse) => {
      const body = bodyOf("the header Expect cannot be met");
      response.writeHead(417, { "content-type": jsonType, "content-length": body.length }).end(body);
    });
  }

  /**
   * Handles Node's event `clientError`: the bytes of a client are not a valid request. A client matches answers to
   * requests by their order, so this error waits until all complete requests of the connection are answered. A reset
   * connection gets no answer.
   */
  async answer({ code = "" }: { readonly code?: string }, socket: Socket): Promise<void> {
    if (code !== "ECONNRESET") await this.#untilAnswered(socket);
    if (code === "ECONNRESET" || !socket.writable) socket.destroy();
    else socket.end(bytesOf(statusOfCode[code] ?? "400 Bad Request", "the request is not well-formed HTTP"));
  }

  #note(request: IncomingMessage, response: ServerResponse): void {
    const before = this.#latest.get(request.socket);
    this.#latest.set(request.socket, { request, response, before: before && isOpen(before) ? before : undefined });
  }

  async #untilAnswered(socket: Socket): Promise<void> {
    const latest = this.#latest.get(socket);
    // An incomplete latest request is the request that cannot be read, so the wait is for the request before it.
    const whole = latest?.request.complete === false ? latest.before : latest;
    if (whole !== undefined && isOpen(whole)) await once(whole.response, "close").catch(() => undefined);
  }
}

function isOpen({ response }: Exchange): boolean {
  return !response.writableFinished && !response.destroyed;
}

const jsonType = "application/json; charset=utf-8";

function bodyOf(message: string): string {
  return JSON.stringify({ request_id: randomUUID(), code: "", message });
}

/** Returns the bytes of a complete answer, after which the connection closes. */
function bytesOf(status: string, message: string): string {
  const body = bodyOf(message);
  const headers = [`Content-Type: ${jsonType}`, `Content-Length: ${body.length}`, "Connection: close"];
  return [`HTTP/1.1 ${status}`, ...headers, "", body].join("\r\n");
}
