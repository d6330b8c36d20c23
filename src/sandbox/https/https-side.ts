/** Lets clients reach the sandbox by https: on its own port, and through a proxy. */
import type { Server } from "node:http";
import type { CertificateAuthority } from "../certificates/certificate-authority.ts";
import { ConnectProxy } from "./connect-proxy.ts";
import { ServerIdentity } from "./server-identity.ts";
import { TlsConnections } from "./tls-connections.ts";

/** The options of a proxy for clients with a fixed https address. */
export interface ProxyOptions {
  /** The port of the proxy. @default 0: a free port */
  readonly port?: number | undefined;
  /** The host name for which the proxy connects clients to the sandbox. @default console.neon.tech */
  readonly hostName?: string | undefined;
}

export const publicHostName = "console.neon.tech";

/** How clients can reach the sandbox by https. */
export interface HttpsOptions {
  /** Whether the server's own port also answers https. */
  readonly tls: boolean;
  /** The options of the proxy; `undefined`: no proxy. */
  readonly proxy: ProxyOptions | undefined;
  /** Returns the certificate authority. It is called only if `tls` or `proxy` is set. */
  readonly authority: () => CertificateAuthority;
}

/** The https connections of an HTTP server: on its own port, and through a proxy. */
export class HttpsSide {
  readonly #encrypted: TlsConnections | undefined;
  readonly #proxy: ConnectProxy | undefined;
  readonly #proxyPort: number;

  /** Prepares the https connections; nothing listens yet. @param http the server, which must not listen yet */
  constructor(http: Server, { tls, proxy, authority }: HttpsOptions) {
    this.#proxyPort = proxy?.port ?? 0;
    if (!tls && proxy === undefined) return;
    this.#encrypted = new TlsConnections(http, new ServerIdentity(authority()));
    if (tls) this.#encrypted.detectOnPort();
    if (proxy === undefined) return;
    const hostName = (proxy.hostName ?? publicHostName).toLowerCase();
    this.#proxy = new ConnectProxy({ http, encrypted: this.#encrypted, hostName });
  }

  /** Opens the proxy. @returns its port; `undefined`: there is none. @throws Error when the address cannot be bound */
  async listen(host: string): Promise<number | undefined> {
    return this.#proxy?.listen(host, this.#proxyPort);
  }

  async close(): Promise<void> {
    this.#encrypted?.close();
    await this.#proxy?.close();
  }
}
