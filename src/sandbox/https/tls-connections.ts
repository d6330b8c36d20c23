/** Accepts encrypted connections for an HTTP server. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { createServer, type Server as TlsServer } from "node:tls";
import type { ServerIdentity } from "./server-identity.ts";

/** The time limit for the first byte of a client, and again for its handshake, in milliseconds. */
const handshakeLimitMs = 10_000;

/**
 * The maximum number of encrypted connections, together with those that have not sent their first byte. At this limit,
 * a port that detects encryption also refuses plain connections.
 */
const connectionLimit = 1024;

/** The first byte of a TLS connection: a record of the type "handshake". No HTTP request begins with it. */
const tlsRecord = 0x16;

/** Lets an HTTP server answer encrypted connections too. */
export class TlsConnections {
  readonly #http: Server;
  readonly #tls: TlsServer;
  /** Gives a connection to the HTTP server. */
  readonly #accept: (socket: Socket) => void;
  readonly #sockets = new Set<Socket>();

  /** Prepares the encrypted connections of a server. @param http the server, which must not listen yet */
  constructor(http: Server, identity: ServerIdentity) {
    this.#http = http;
    const accepting = http.listeners("connection") as ((socket: Socket) => void)[];
    this.#accept = (socket) => {
      for (const accept of accepting) accept.call(http, socket);
    };
    this.#tls = createServer({ ...identity.tlsOptions(), handshakeTimeout: handshakeLimitMs });
    this.#tls.on("secureConnection", this.#accept);
    // A failed handshake affects only its own client. That client gets the TLS alert.
    this.#tls.on("tlsClientError", (_error, socket) => socket.destroy());
  }

  /**
   * Makes the HTTP server's own port accept encrypted and plain connections. The first byte of a connection shows
   * whether it is encrypted.
   */
  detectOnPort(): void {
    this.#http.removeAllListeners("connection");
    this.#http.on("connection", (socket) => this.#detect(socket));
  }

  /** Accepts a connection whose next byte begins a TLS handshake. */
  take(socket: Socket): void {
    if (this.#sockets.size >= connectionLimit) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    this.#tls.emit("connection", socket);
  }

  /** Closes every encrypted connection, and every connection that has not sent its first byte. */
  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #detect(socket: Socket): void {
    const giveUp = (): void => void socket.destroy();
    if (this.#sockets.size >= connectionLimit) {
      giveUp();
      return;
    }
    const deadline = setTimeout(giveUp, handshakeLimitMs).unref();
    this.#sockets.add(socket);
    const forget = (): void => {
      clearTimeout(deadline);
      this.#sockets.delete(socket);
    };
    socket.once("error", giveUp);
    socket.once("close", forget);
    socket.once("readable", () => {
      const first = socket.read(1) as Buffer | null;
      forget();
      socket.off("error", giveUp);
      socket.off("close", forget);
      if (first !== null) socket.unshift(first);
      if (first?.[0] === tlsRecord) this.take(socket);
      else this.#accept(socket);
    });
  }
}
