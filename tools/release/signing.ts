/** Chooses the key that signs a release. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Cosign, makeKeyPair, type Signing } from "./cosign.ts";

/** The signer of a release: a key pair of this run, a private key of the user, or the identity of the workflow. */
export type SigningChoice =
  | { readonly kind: "KeyOfThisRun" }
  | { readonly kind: "KeyFile"; readonly file: string; readonly password: string }
  | { readonly kind: "Keyless" };

/**
 * Runs `work` with a signer. A key pair of this run is removed afterwards. @throws CommandError when cosign cannot read
 * the key
 */
export async function withSigning<T>(
  cosign: Cosign,
  choice: SigningChoice,
  work: (signing: Signing) => Promise<T>,
): Promise<T> {
  if (choice.kind === "Keyless") return await work({ kind: "Keyless" });
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-key-"));
  try {
    return await work(await keyPair(cosign, choice, directory));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function keyPair(
  cosign: Cosign,
  choice: Exclude<SigningChoice, { kind: "Keyless" }>,
  directory: string,
): Promise<Signing> {
  if (choice.kind === "KeyOfThisRun") return await makeKeyPair(cosign, directory);
  const { file, password } = choice;
  const publicKey = path.join(directory, "cosign.pub");
  await writeFile(publicKey, await cosign(["public-key", `--key=${file}`], password));
  return { kind: "Key", privateKey: file, publicKey, password };
}
