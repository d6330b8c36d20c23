/** Checks passwords of clients by SCRAM-SHA-256, as PostgreSQL does. */
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

const derive = promisify(pbkdf2);

/** PostgreSQL's default number of iterations. */
const defaultIterations = 4096;

/** The data that a server stores in place of a password, as in `pg_authid.rolpassword`. @see RFC 5802, part 3 */
export interface ScramVerifier {
  readonly iterations: number;
  readonly salt: Buffer;
  readonly storedKey: Buffer;
  readonly serverKey: Buffer;
}

export async function makeVerifier(password: string, salt = randomBytes(16)): Promise<ScramVerifier> {
  // PostgreSQL prepares passwords by SASLprep. The sandbox does only one step of SASLprep, the normalization to NFKC.
  const salted = await derive(password.normalize("NFKC"), salt, defaultIterations, 32, "sha256");
  const clientKey = hmac(salted, "Client Key");
  return { iterations: defaultIterations, salt, storedKey: sha256(clientKey), serverKey: hmac(salted, "Server Key") };
}

export function verifierText({ iterations, salt, storedKey, serverKey }: ScramVerifier): string {
  const base64 = (bytes: Buffer): string => bytes.toString("base64");
  return `SCRAM-SHA-256$${iterations}:${base64(salt)}$${base64(storedKey)}:${base64(serverKey)}`;
}

/** `undefined`: the text is no SCRAM-SHA-256 verifier. */
export function parseVerifier(text: string): ScramVerifier | undefined {
  const match = /^SCRAM-SHA-256\$(\d{1,7}):([^$]+)\$([^:]+):(.+)$/.exec(text);
  if (match === null) return undefined;
  const [, iterations, ...fields] = match;
  const [salt, storedKey, serverKey] = fields.map((field) => Buffer.from(field, "base64"));
  if (salt === undefined || storedKey?.length !== 32 || serverKey?.length !== 32) return undefined;
  return { iterations: Number(iterations), salt, storedKey, serverKey };
}

/** It looks like a real one, so a client does not learn which roles exist. */
export function impossibleVerifier(): ScramVerifier {
  return {
    iterations: defaultIterations,
    salt: randomBytes(16),
    storedKey: randomBytes(32),
    serverKey: randomBytes(32),
  };
}

export async function isPassword(password: string, verifier: ScramVerifier): Promise<boolean> {
  const salted = await derive(password.normalize("NFKC"), verifier.salt, verifier.iterations, 32, "sha256");
  return timingSafeEqual(sha256(hmac(salted, "Client Key")), verifier.storedKey);
}

export const scramMethods = ["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"] as const;
export type ScramMethod = (typeof scramMethods)[number];

export class ScramError extends Error {
  override readonly name = "ScramError";
  readonly isWrongPassword: boolean;

  constructor(text: string, isWrongPassword = false) {
    super(text);
    this.isWrongPassword = isWrongPassword;
  }
}

/** Call `begin` with the client's first message, then `finish`. @see RFC 5802, RFC 5929 (tls-server-end-point) */
export class ScramExchange {
  readonly #verifier: ScramVerifier;
  readonly #method: ScramMethod;
  readonly #endPoint: Buffer;
  #gs2Header = "";
  #clientFirstBare = "";
  #serverFirst = "";

  constructor(verifier: ScramVerifier, method: ScramMethod, endPoint: Buffer) {
    this.#verifier = verifier;
    this.#method = method;
    this.#endPoint = endPoint;
  }

  /** @throws ScramError */
  begin(clientFirst: string): string {
    const match = /^((?:n|y|p=([A-Za-z0-9.-]+)),[^,]*,)(n=[^,]*,r=([\x21-\x2b\x2d-\x7e]{1,256}).*)$/s.exec(clientFirst);
    if (match === null) throw new ScramError("malformed SCRAM message");
    const [, header = "", binding, bare = "", nonce = ""] = match;
    if ((binding !== undefined) !== (this.#method === "SCRAM-SHA-256-PLUS")) {
      throw new ScramError("the SCRAM method and the channel binding do not match");
    }
    if (binding !== undefined && binding !== "tls-server-end-point") {
      throw new ScramError("unsupported SCRAM channel-binding type");
    }
    // The client believes that the server has no channel binding, so an attacker may have changed the offer.
    if (header.startsWith("y")) throw new ScramError("SCRAM channel binding negotiation error");
    this.#gs2Header = header;
    this.#clientFirstBare = bare;
    const { salt, iterations } = this.#verifier;
    const serverNonce = nonce + randomBytes(18).toString("base64");
    this.#serverFirst = `r=${serverNonce},s=${salt.toString("base64")},i=${iterations}`;
    return this.#serverFirst;
  }

  /** @returns the server's last message. @throws ScramError */
  finish(clientFinal: string): string {
    const match = /^(c=([^,]+),r=([^,]+)(?:,[^p][^,]*)*),p=([^,]+)$/s.exec(clientFinal);
    if (match === null) throw new ScramError("malformed SCRAM message");
    const [, withoutProof = "", binding = "", nonce = "", proof = ""] = match;
    if (!this.#serverFirst.startsWith(`r=${nonce},`)) throw new ScramError("the nonce of the SCRAM message is wrong");
    const expected = Buffer.concat([Buffer.from(this.#gs2Header), this.#isBound ? this.#endPoint : Buffer.alloc(0)]);
    if (!Buffer.from(binding, "base64").equals(expected)) throw new ScramError("SCRAM channel binding check failed");
    const signed = `${this.#clientFirstBare},${this.#serverFirst},${withoutProof}`;
    const signature = hmac(this.#verifier.storedKey, signed);
    const clientKey = xor(Buffer.from(proof, "base64"), signature);
    if (!timingSafeEqual(sha256(clientKey), this.#verifier.storedKey)) throw new ScramError("wrong password", true);
    return `v=${hmac(this.#verifier.serverKey, signed).toString("base64")}`;
  }

  get #isBound(): boolean {
    return this.#method === "SCRAM-SHA-256-PLUS";
  }
}

function xor(a: Buffer, b: Buffer): Buffer {
  return Buffer.from(b.map((byte, index) => byte ^ (a[index] ?? 0)));
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function sha256(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}
