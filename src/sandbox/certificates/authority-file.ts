/** Stores the certificate authority of a data directory. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { CertificateAuthority } from "./certificate-authority.ts";

/** The certificate authority of a data directory cannot be used. The message says what to do. */
export class AuthorityFileError extends Error {
  override readonly name = "AuthorityFileError";
}

/**
 * The name of the file with certificate and private key. Both are in one file, so that a crash never leaves one of them
 * alone.
 */
const authorityFileName = "certificate-authority.pem";

export const certificateFileName = "ca.crt";

/**
 * Reads the certificate authority of a data directory, or makes one and stores it there. The same directory always
 * gives the same authority, so that clients need to trust it only once.
 * @param directory an existing directory; `undefined`: makes a new authority that is not stored.
 * @param nowMs epoch milliseconds of the machine's clock.
 * @throws AuthorityFileError when the file cannot be read or written, is damaged, expires within a day, or is not valid
 *   yet
 */
export function openAuthority(directory: string | undefined, nowMs: number): CertificateAuthority {
  if (directory === undefined) return CertificateAuthority.create(nowMs);
  const file = path.join(directory, authorityFileName);
  const kept = readIfThere(file);
  const authority = kept === undefined ? CertificateAuthority.create(nowMs) : parseAuthority(kept, file);
  if (!authority.isValidAt(nowMs)) throw problem(file, "has expired, or begins in the future");
  try {
    if (kept === undefined) writeWhole(file, authority.certificate + authority.privateKey, 0o600);
    writeWhole(path.join(directory, certificateFileName), authority.certificate, 0o644);
  } catch (error) {
    throw new AuthorityFileError(`${directory}: cannot write: ${(error as Error).message}`, { cause: error });
  }
  return authority;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new AuthorityFileError(`${file}: cannot read: ${(error as Error).message}`, { cause: error });
  }
}

function parseAuthority(text: string, file: string): CertificateAuthority {
  const keyStart = text.indexOf("-----BEGIN PRIVATE KEY-----");
  try {
    return CertificateAuthority.from(text.slice(0, keyStart), text.slice(keyStart));
  } catch (error) {
    throw problem(file, "is not a certificate with its private key", error);
  }
}

function problem(file: string, what: string, cause?: unknown): AuthorityFileError {
  const remedy = "delete it, and the next start makes a new authority, which clients must then trust";
  return new AuthorityFileError(`${file} ${what}; ${remedy}`, { cause });
}

/** Writes a file so that, after a crash, there is either the old file or the new one. */
function writeWhole(file: string, text: string, mode: number): void {
  writeFileSync(`${file}.new`, text, { mode, flush: true });
  renameSync(`${file}.new`, file);
}
