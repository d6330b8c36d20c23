/** Listens for clients of databases. The proxy does TLS, checks passwords, and connects each client with its server. */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import { ProtocolError } from "../protocol/messages.ts";
import { type SessionParts, serveClient } from "./client-session.ts";

export interface ProxyParts extends Omit<SessionParts, "upgrade"> {
  readonly publicHost: string | undefined;
  readonly certificateFor: (names: readonly string[]) => { readonly cert: string; readonly key: string };
  readonly onBug: (error: unknown) => void;
}

/** Names in every certificate, for clients that connect to this machine directly. */
const machineNames = ["localhost", "127.0.0.1", "::1"];

/** At this number, all of them are removed. */
const keptContexts = 1_000;

export class ComputeProxy {
  readonly #parts: ProxyParts;
  readonly #contexts = new Map<string, SecureContext>();
  readonly #clients = new Set<Socket>();
  readonly #servers = new Map<string, Server>();

  constructor(parts: ProxyParts) {
    this.#parts = parts;
  }

  /** @throws Error when the address is in use */
  async listen(port: number, host: string): Promise<number> {
    const server = createServer({ noDelay: true }, (socket) => this.#serve(socket));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ port, host }, resolve);
    });
    this.#servers.set(host, server);
    return (server.address() as AddressInfo).port;
  }

  /** Open connections stay. */
  leave(host: string): void {
    this.#servers.get(host)?.close();
    this.#servers.delete(host);
  }

  async close(): Promise<void> {
    const closed = [...this.#servers.values()].map((server) => new Promise((resolve) => server.close(resolve)));
    for (const client of this.#clients) client.destroy();
    await Promise.all(closed);
  }

  #serve(socket: Socket): void {
    this.#clients.add(socket);
    socket.once("close", () => this.#clients.delete(socket));
    // The session's waiting read then fails, so this listener has nothing to do.
    socket.on("error", () => {});
    const parts: SessionParts = { ...this.#parts, upgrade: (plain) => this.#upgrade(plain) };
    serveClient(socket, parts).catch(this.#parts.onBug);
  }

  #upgrade(socket: Socket): Promise<TLSSocket> {
    const secured = Promise.withResolvers<TLSSocket>();
    const client = new TLSSocket(socket, {
      isServer: true,
      ALPNProtocols: ["postgresql"],
      secureContext: this.#contextFor(socket.localAddress ?? ""),
      SNICallback: (name, done) => done(null, this.#contextFor(name)),
    });
    client.once("secure", () => secured.resolve(client));
    client.on("error", (error) => secured.reject(new ProtocolError(error.message)));
    client.once("close", () => secured.reject(new ProtocolError("the client closed the connection")));
    return secured.promise;
  }

  #contextFor(name: string): SecureContext {
    const known = this.#contexts.get(name);
    if (known !== undefined) return known;
    const isOwn = /^[a-z0-9.-]{1,200}\.localhost$/.test(name) || /^127\.[0-9.]+$/.test(name);
    const key = isOwn ? name : "";
    const { publicHost } = this.#parts;
    const common = publicHost === undefined ? machineNames : [...machineNames, publicHost];
    const context = this.#contexts.get(key) ?? this.#makeContext(isOwn ? [name, ...common] : common);
    if (this.#contexts.size >= keptContexts) this.#contexts.clear();
    this.#contexts.set(key, context);
    return context;
  }

  #makeContext(names: readonly string[]): SecureContext {
    return createSecureContext({ ...this.#parts.certificateFor([...new Set(names)]), minVersion: "TLSv1.2" });
  }
}
