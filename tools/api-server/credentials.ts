/** Makes the keys and tokens of an API server. */
import { generateKeyPair, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import type { ApiServerFiles } from "./component-args.ts";

/**
 * Makes the administrator's token and the key pair for service-account tokens. If an earlier start on the same data has
 * made them, it uses those, so that their tokens stay valid.
 * @returns the token of a member of `system:masters`.
 */
export async function ensureCredentials(files: ApiServerFiles): Promise<string> {
  const existing = await readFile(files.tokenFile, "utf8").catch(() => undefined);
  const token = existing?.split(",")[0];
  if (token !== undefined && token !== "") return token;
  const { publicKey, privateKey } = await promisify(generateKeyPair)("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  await writeFile(files.serviceAccountKey, privateKey, { mode: 0o600 });
  await writeFile(files.serviceAccountPublicKey, publicKey);
  const created = randomBytes(24).toString("base64url");
  // This file is written last: if it exists, the key pair exists too.
  await writeFile(files.tokenFile, `${created},admin,admin,"system:masters"\n`, { mode: 0o600 });
  return created;
}
