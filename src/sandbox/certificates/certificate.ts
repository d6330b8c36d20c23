/**
 * Makes signed X.509 certificates, in DER, their binary form.
 * @see RFC 5280, part 4; ITU-T X.690 (2021), parts 8 and 10
 */
import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";

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

/** The object identifiers, in DER. */
const ids = {
  commonName: "0603550403",
  ecdsaWithSha256: "06082a8648ce3d040302",
  subjectKeyId: "0603551d0e",
  keyUsage: "0603551d0f",
  subjectAltName: "0603551d11",
  basicConstraints: "0603551d13",
  authorityKeyId: "0603551d23",
  extendedKeyUsage: "0603551d25",
  serverAuth: "06082b06010505070301",
} as const;

/** Makes a value: a tag, the length of its content, and its content. The length takes as few bytes as it can. */
function value(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  if (content.length < 0x100) return Buffer.concat([Buffer.from([tag, 0x81, content.length]), content]);
  return Buffer.concat([Buffer.from([tag, 0x82, content.length >> 8, content.length & 0xff]), content]);
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => value(0x30, ...parts);
const identifier = (name: keyof typeof ids): Buffer => Buffer.from(ids[name], "hex");
const bits = (bytes: Uint8Array, unusedBits = 0): Buffer => value(0x03, Uint8Array.of(unusedBits), bytes);
const isTrue: Uint8Array = Uint8Array.of(0x01, 0x01, 0xff);

/** Makes a time: UTCTime up to the year 2049, then GeneralizedTime, as RFC 5280 requires. */
function time(epochMs: number): Buffer {
  const date = new Date(epochMs);
  const digits = `${date.toISOString().slice(0, 19).replace(/\D/g, "")}Z`;
  return date.getUTCFullYear() < 2050
    ? value(0x17, Buffer.from(digits.slice(2), "ascii"))
    : value(0x18, Buffer.from(digits, "ascii"));
}

/** A random serial number. Its first bits make it positive, and 16 bytes long. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return value(0x02, bytes);
}

/** Makes a signed X.509 certificate, version 3. @returns the certificate as PEM @see RFC 5280, part 4 */
export function signCertificate(content: CertificateContent): string {
  const { subject, publicKey, issuer, notBeforeMs, notAfterMs } = content;
  const algorithm = sequence(identifier("ecdsaWithSha256"));
  const body = sequence(
    value(0xa0, value(0x02, Uint8Array.of(2))),
    serialNumber(),
    algorithm,
    nameOf(issuer.name),
    sequence(time(notBeforeMs), time(notAfterMs)),
    nameOf(subject),
    publicKey.export({ type: "spki", format: "der" }),
    value(0xa3, sequence(...extensionsOf(content))),
  );
  const signature = sign("sha256", body, issuer.privateKey);
  return pemOf(sequence(body, algorithm, bits(signature)));
}

function nameOf(commonName: string): Buffer {
  return sequence(value(0x31, sequence(identifier("commonName"), value(0x0c, Buffer.from(commonName, "utf8")))));
}

function extensionsOf({ publicKey, issuer, use }: CertificateContent): readonly Buffer[] {
  const isAuthority = use === "authority";
  return [
    extension("basicConstraints", sequence(...(isAuthority ? [isTrue] : [])), "critical"),
    // The key usage: an authority signs certificates and revocation lists (bits 5 and 6); a server signs handshakes
    // (bit 0).
    extension("keyUsage", isAuthority ? bits(Uint8Array.of(0x06), 1) : bits(Uint8Array.of(0x80), 7), "critical"),
    extension("subjectKeyId", value(0x04, keyIdOf(publicKey))),
    extension("authorityKeyId", sequence(value(0x80, keyIdOf(issuer.publicKey)))),
    ...(use === "authority"
      ? []
      : [
          extension("extendedKeyUsage", sequence(identifier("serverAuth"))),
          extension("subjectAltName", sequence(...use.map(alternativeName))),
        ]),
  ];
}

function extension(id: keyof typeof ids, content: Buffer, critical?: "critical"): Buffer {
  return sequence(identifier(id), ...(critical === undefined ? [] : [isTrue]), value(0x04, content));
}

function alternativeName(name: string): Buffer {
  return isIP(name) === 0 ? value(0x82, Buffer.from(name, "ascii")) : value(0x87, addressBytes(name));
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
