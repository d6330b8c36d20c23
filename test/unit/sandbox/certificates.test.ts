/** Tests the sandbox's certificates. */
import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { CertificateAuthority } from "../../../src/sandbox/certificates/certificate-authority.ts";

const nowMs = Date.UTC(2026, 10, 22, 12);
const dayMs = 86_400_000;

/** Counts the values whose length takes more bytes than it needs. OpenSSL accepts them, and Go does not. */
function longLengthsIn(der: Buffer): number {
  let found = 0;
  for (let at = 0; at < der.length; ) {
    const [tag = 0, first = 0] = der.subarray(at);
    const more = first < 0x80 ? 0 : first & 0x7f;
    const length = more === 0 ? first : der.readUIntBE(at + 2, more);
    const content = der.subarray(at + 2 + more, at + 2 + more + length);
    found += Number(more !== (length < 0x80 ? 0 : length < 0x100 ? 1 : 2));
    found += (tag & 0x20) === 0 ? 0 : longLengthsIn(content);
    at += 2 + more + length;
  }
  return found;
}

describe("the certificate authority", () => {
  test("certificates with few and many names → every length is as short as it can be", () => {
    const authority = CertificateAuthority.create(nowMs);
    for (const count of [1, 2, 5, 9, 40]) {
      const names = Array.from({ length: count }, (_, index) => `name-${index}.localhost`);
      expect(longLengthsIn(new X509Certificate(authority.issue(names, nowMs).cert).raw)).toBe(0);
    }
  });

  test("taken up again → issues what the first certificate vouches for; another key is refused", () => {
    const first = CertificateAuthority.create(nowMs);
    const again = CertificateAuthority.from(first.certificate, first.privateKey);
    const server = new X509Certificate(again.issue(["localhost"], nowMs).cert);
    expect(server.verify(new X509Certificate(first.certificate).publicKey)).toBe(true);
    const other = CertificateAuthority.create(nowMs);
    expect(() => CertificateAuthority.from(first.certificate, other.privateKey)).toThrow("belongs to another");
    const { cert, key } = first.issue(["localhost"], nowMs);
    expect(() => CertificateAuthority.from(cert, key)).toThrow("not that of an authority");
  });

  test("an authority that is valid beyond 2050, and many names → OpenSSL reads both", () => {
    const authority = CertificateAuthority.create(Date.UTC(2045, 0, 1));
    expect(new X509Certificate(authority.certificate).validTo).toContain("2054");
    const names = Array.from({ length: 40 }, (_, index) => `name-${index}.localhost`);
    const server = new X509Certificate(authority.issue(names, Date.UTC(2045, 0, 1)).cert);
    expect(server.checkHost("name-39.localhost")).toBe("name-39.localhost");
    expect(server.serialNumber).toHaveLength(32);
  });

  test("validity → a day back for slow clocks; a server's never ends after the authority's", () => {
    const authority = CertificateAuthority.create(nowMs);
    const lateMs = nowMs + 10 * 365 * dayMs - 2 * dayMs;
    const server = new X509Certificate(authority.issue(["localhost"], lateMs).cert);
    expect(server.validTo).toBe(new X509Certificate(authority.certificate).validTo);
    expect(Date.parse(server.validFrom)).toBe(lateMs - dayMs);
    expect(authority.isValidAt(lateMs)).toBe(true);
    expect(authority.isValidAt(lateMs + dayMs)).toBe(false);
  });
});
