/** Makes signed X.509 certificates. */
import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import {
  derBits,
  derIdentifier,
  derInteger,
  derOctets,
  derSequence,
  derSet,
  derText,
  derTime,
  derTrue,
  derValue,
} from "./der.ts";

/** The content of a certificate. Keys are on the curve P-256. */
export interface CertificateContent {
  /** The common name of the subject, at most 64 characters. */
  readonly subject: string;
  readonly publicKey: KeyObject;
  /** The common name and the keys of the signer. For a root certificate, the signer is the subject. */
  readonly issuer: { readonly name: string; readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  /**
   * The start of the validity, in epoch milliseconds of the machine's clock, because clients compare it with their own
   * clocks.
   */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** `authority`: the certificate may sign other certificates. A list: the host names and IP addresses of a server. */
  readonly use: "authority" | readonly string[];
}

const ids = {
  commonName: "2.5.4.3",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
} as const;

/** Makes a signed X.509 certificate, version 3. @returns the certificate as PEM @see RFC 5280, part 4 */
export function signCertificate(content: CertificateContent): string {
  const { subject, publicKey, issuer, notBeforeMs, notAfterMs } = content;
  const algorithm = derSequence(derIdentifier(ids.ecdsaWithSha256));
  const body = derSequence(
    derValue(0xa0, derInteger(Uint8Array.of(2))),
    derInteger(randomBytes(16)),
    algorithm,
    nameOf(issuer.name),
    derSequence(derTime(notBeforeMs), derTime(notAfterMs)),
    nameOf(subject),
    publicKey.export({ type: "spki", format: "der" }),
    derValue(0xa3, derSequence(...extensionsOf(content))),
  );
  const signature = sign("sha256", body, issuer.privateKey);
  return pemOf(derSequence(body, algorithm, derBits(signature)));
}

function nameOf(commonName: string): Buffer {
  return derSequence(derSet(derSequence(derIdentifier(ids.commonName), derText(commonName))));
}

function extensionsOf({ publicKey, issuer, use }: CertificateContent): readonly Buffer[] {
  const isAuthority = use === "authority";
  return [
    extension(ids.basicConstraints, derSequence(...(isAuthority ? [derTrue] : [])), "critical"),
    // The key usage: an authority signs certificates and revocation lists (bits 5 and 6); a server signs handshakes
    // (bit 0).
    extension(
      ids.keyUsage,
      isAuthority ? derBits(Uint8Array.of(0x06), 1) : derBits(Uint8Array.of(0x80), 7),
      "critical",
    ),
    extension(ids.subjectKeyId, derOctets(keyIdOf(publicKey))),
    extension(ids.authorityKeyId, derSequence(derValue(0x80, keyIdOf(issuer.publicKey)))),
    ...(use === "authority"
      ? []
      : [
          extension(ids.extendedKeyUsage, derSequence(derIdentifier(ids.serverAuth))),
          extension(ids.subjectAltName, derSequence(...use.map(alternativeName))),
        ]),
  ];
}

function extension(id: string, value: Buffer, critical?: "critical"): Buffer {
  return derSequence(derIdentifier(id), ...(critical === undefined ? [] : [derTrue]), derOctets(value));
}

function alternativeName(name: string): Buffer {
  return isIP(name) === 0 ? derValue(0x82, Buffer.from(name, "ascii")) : derValue(0x87, addressBytes(name));
}

/** Returns the 4 bytes of an IPv4 address, or the 16 bytes of an IPv6 address. */
function addressBytes(address: string): Uint8Array {
  if (isIP(address) === 4) return Uint8Array.from(address.split("."), Number);
  // The URL parser writes every IPv6 address in hexadecimal groups, with at most one `::`.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groups = (text: string) => text.split(":").filter((group) => group !== "");
  const [before, after] = [groups(head), groups(tail ?? "")];
  const zeros = Array<string>(8 - before.length - after.length).fill("0");
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, "0")).join(""), "hex");
}

/**
 * Returns the identifier of a public key: a hash of its uncompressed point, which is the last 65 bytes of its DER form.
 */
export function keyIdOf(publicKey: KeyObject): Buffer {
  const point = publicKey.export({ type: "spki", format: "der" }).subarray(-65);
  return createHash("sha1").update(point).digest();
}

function pemOf(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
