/** Makes the certificates that the sandbox shows to its https clients. */
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { createSecureContext, type SecureContext, type TlsOptions } from "node:tls";
import type { CertificateAuthority } from "../certificates/certificate-authority.ts";

/** The maximum number of certificates in memory. */
const keptCertificates = 64;

/**
 * The certificates of the sandbox's API. Each host name that a client asks for gets its own certificate, so that any
 * name that leads to the sandbox works. A client that names no host gets a certificate for this machine's names and
 * addresses.
 */
export class ServerIdentity {
  readonly #authority: CertificateAuthority;
  readonly #nowMs: () => number;
  readonly #contexts = new Map<string, SecureContext>();

  /** Makes the certificates of a server. @param nowMs returns epoch milliseconds of the machine's clock */
  constructor(authority: CertificateAuthority, nowMs: () => number = Date.now) {
    this.#authority = authority;
    this.#nowMs = nowMs;
  }

  /**
   * Returns the options for `node:tls`. Only HTTP/1.1 is offered, because the sandbox's server supports nothing else.
   */
  tlsOptions(): TlsOptions {
    return {
      ...this.#authority.issue(["localhost", ...machineAddresses()], this.#nowMs()),
      ALPNProtocols: ["http/1.1"],
      SNICallback: (name, done) => {
        if (isHostName(name)) done(null, this.#contextOf(name.toLowerCase()));
        else done(new Error("the client asks for a host name that is not valid"));
      },
    };
  }

  #contextOf(name: string): SecureContext {
    const known = this.#contexts.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.#contexts.keys();
    if (this.#contexts.size >= keptCertificates && oldest !== undefined) this.#contexts.delete(oldest);
    const made = createSecureContext(this.#authority.issue([name], this.#nowMs()));
    this.#contexts.set(name, made);
    return made;
  }
}

function isHostName(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/i.test(name) && isIP(name) === 0;
}

function machineAddresses(): readonly string[] {
  const addresses = Object.values(networkInterfaces()).flatMap(
    (entries) => entries?.map(({ address }) => address) ?? [],
  );
  return [...new Set(["127.0.0.1", "::1", ...addresses])];
}
