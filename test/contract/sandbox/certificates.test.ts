/** Tests the sandbox's certificate authority with openssl. */
import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { openAuthority } from "../../../src/sandbox/certificates/authority-file.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const nowMs = Date.now();

const freshDirectory = (): string => temporaryFolder("sandbox-authority");

describe("the authority of a data directory", () => {
  test("opened twice → the same certificate; the key is readable by its owner only", () => {
    const directory = freshDirectory();
    const first = openAuthority(directory, nowMs);
    expect(openAuthority(directory, nowMs).certificate).toBe(first.certificate);
    expect(readFileSync(path.join(directory, "ca.crt"), "utf8")).toBe(first.certificate);
    expect(statSync(path.join(directory, "certificate-authority.pem")).mode & 0o777).toBe(0o600);
  });

  test("damaged or expired → refused, with the file and the remedy", () => {
    const directory = freshDirectory();
    const file = path.join(directory, "certificate-authority.pem");
    openAuthority(directory, nowMs);
    expect(() => openAuthority(directory, nowMs + 11 * 365 * 86_400_000)).toThrow(/pem has expired.*delete it/);
    writeFileSync(file, "nonsense");
    expect(() => openAuthority(directory, nowMs)).toThrow(/pem is not a certificate with its private key; delete it/);
    expect(() => openAuthority(path.join(directory, "missing"), nowMs)).toThrow(/missing: cannot write/);
  });
});

describe("openssl", () => {
  beforeEach((context) => {
    if (spawnSync("openssl", ["version"]).status !== 0) context.skip("openssl is not installed");
  });

  test("strict verification of a server certificate → accepted for its names, refused for another", () => {
    const directory = freshDirectory();
    const authority = openAuthority(directory, nowMs);
    const file = path.join(directory, "server.crt");
    writeFileSync(file, authority.issue(["localhost", "127.0.0.1", "::1"], nowMs).cert);
    const verify = (...more: readonly string[]) => {
      const args = ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", path.join(directory, "ca.crt")];
      const { status, stderr } = spawnSync("openssl", [...args, ...more, file], { encoding: "utf8" });
      return { status, stderr };
    };
    expect(verify("-verify_hostname", "localhost")).toEqual({ status: 0, stderr: "" });
    expect(verify("-verify_ip", "::1")).toEqual({ status: 0, stderr: "" });
    expect(verify("-verify_hostname", "example.com").status).not.toBe(0);
  });
});
