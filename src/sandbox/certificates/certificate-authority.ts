/** The sandbox's certificate authority: signs certificates that clients accept once they trust the authority. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { keyIdOf, signCertificate } from "./certificate.ts";

/** A server's certificate with its private key, both as PEM, in the form that `node:tls` takes. */
export interface ServerCertificate {
  readonly cert: string;
  readonly key: string;
}

const dayMs = 86_400_000;

/** The largest difference that the clocks of client and sandbox may have, in milliseconds. */
const clockDifferenceMs = dayMs;

const authorityLifeMs = 10 * 365 * dayMs;

/** How long a server's certificate is valid, in milliseconds. Some clients refuse more than 825 days. */
const serverLifeMs = 800 * dayMs;

/**
 * A certificate authority. A client that trusts `certificate` trusts every server certificate that `issue` makes.
 * Making an authority or a server certificate takes about a millisecond.
 */
export class CertificateAuthority {
  /** The authority's own certificate, as PEM. */
  readonly certificate: string;
  /** The private key as PEM (PKCS 8). A program that has it can make certificates that the clients trust. */
  readonly privateKey: string;
  readonly #name: string;
  readonly #privateKey: KeyObject;

  private constructor(certificate: string, privateKey: string) {
    this.certificate = certificate;
    this.privateKey = privateKey;
    this.#name = new X509Certificate(certificate).subject.replace(/^CN=/, "");
    this.#privateKey = createPrivateKey(privateKey);
  }

  /** Makes a new authority. @param nowMs epoch milliseconds of the machine's clock */
  static create(nowMs: number): CertificateAuthority {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    // The name is unique, because two authorities in one trust store need different names.
    const name = `endpoint-operator sandbox ${keyIdOf(publicKey).toString("hex").slice(0, 8)}`;
    const certificate = signCertificate({
      subject: name,
      publicKey,
      issuer: { name, privateKey, publicKey },
      notBeforeMs: nowMs - clockDifferenceMs,
      notAfterMs: nowMs + authorityLifeMs,
      use: "authority",
    });
    return new CertificateAuthority(certificate, pemOf(privateKey));
  }

  /**
   * Makes an authority from its stored certificate and key.
   * @throws Error when the texts are not a certificate authority with its key
   */
  static from(certificate: string, privateKey: string): CertificateAuthority {
    const parsed = new X509Certificate(certificate);
    if (!parsed.ca) throw new Error("the certificate is not that of an authority");
    if (!parsed.checkPrivateKey(createPrivateKey(privateKey)))
      throw new Error("the key belongs to another certificate");
    return new CertificateAuthority(certificate, privateKey);
  }

  /** Whether the authority's certificate is valid now, and for at least another day. */
  isValidAt(nowMs: number): boolean {
    const { validFrom, validTo } = new X509Certificate(this.certificate);
    return Date.parse(validFrom) <= nowMs && nowMs + dayMs < Date.parse(validTo);
  }

  /**
   * Makes a certificate for a server, with a key of its own. The authority keeps neither.
   * @param names host names (a leading `*.` stands for one label) and IP addresses; at least one.
   * @param nowMs epoch milliseconds of the machine's clock.
   */
  issue(names: readonly string[], nowMs: number): ServerCertificate {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const authorityKey = createPublicKey(this.#privateKey);
    const cert = signCertificate({
      subject: "endpoint-operator sandbox",
      publicKey,
      issuer: { name: this.#name, privateKey: this.#privateKey, publicKey: authorityKey },
      notBeforeMs: nowMs - clockDifferenceMs,
      notAfterMs: Math.min(nowMs + serverLifeMs, Date.parse(new X509Certificate(this.certificate).validTo)),
      use: names,
    });
    return { cert, key: pemOf(privateKey) };
  }
}

function pemOf(privateKey: KeyObject): string {
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}
