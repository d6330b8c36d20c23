/** Signs and verifies with cosign. */
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ProgressSink } from "../assets/progress.ts";
import { resolveAssets } from "../assets/resolve-assets.ts";
import { CommandError, runCommand, undefinedIfFailed } from "../assets/run-command.ts";

export interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
  readonly password: string;
}

/** How files are signed. Keyless: with the identity of the workflow. */
export type Signing = KeyPair | "Keyless";

/** The options of cosign that name the signer whose signatures are trusted. */
export type Trust = readonly string[];

/** Runs cosign. @throws CommandError with its last lines */
export type Cosign = (args: readonly string[], password?: string) => Promise<string>;

export async function findCosign(progress: ProgressSink, signal?: AbortSignal): Promise<Cosign> {
  const { cosign: command } = await resolveAssets(["cosign"], { progress, signal });
  return (args, password = "") =>
    runCommand({ command, args, env: { ...process.env, COSIGN_PASSWORD: password, COSIGN_YES: "true" }, signal });
}

export function trustInKey(publicKey: string): Trust {
  return [`--key=${publicKey}`, "--insecure-ignore-tlog=true"];
}

/** Makes a key pair in a folder: `cosign.key`, with its own password, and `cosign.pub`. */
export async function makeKeyPair(cosign: Cosign, directory: string): Promise<KeyPair> {
  const password = randomBytes(24).toString("base64url");
  const prefix = path.join(directory, "cosign");
  await cosign(["generate-key-pair", `--output-key-prefix=${prefix}`], password);
  return { privateKey: `${prefix}.key`, publicKey: `${prefix}.pub`, password };
}

/**
 * Runs `work` with a key pair. Its new files are removed afterwards. @throws CommandError about a wrong key
 * @param privateKey a key of the user, whose password is in COSIGN_PASSWORD. `undefined`: a new key pair
 */
export async function withKeyPair<T>(
  cosign: Cosign,
  privateKey: string | undefined,
  work: (keys: KeyPair) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-key-"));
  try {
    if (privateKey === undefined) return await work(await makeKeyPair(cosign, directory));
    const { COSIGN_PASSWORD: password = "" } = process.env;
    const publicKey = path.join(directory, "cosign.pub");
    await writeFile(publicKey, await cosign(["public-key", `--key=${privateKey}`], password));
    return await work({ privateKey, publicKey, password });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const signatureOf = (file: string) => `--bundle=${file}.sigstore.json`;
const attestationOf = (file: string) => `--bundle=${file}.provenance.sigstore.json`;
const provenanceType = "--type=slsaprovenance1";

/** Signs with a command of cosign. With a key, cosign needs no service of Sigstore, so a dry run works offline. */
export async function sign(cosign: Cosign, signing: Signing, [command = "", ...args]: readonly string[]) {
  if (signing === "Keyless") return await cosign([command, ...args]);
  const offline = ["--use-signing-config=false", "--tlog-upload=false"];
  return await cosign([command, `--key=${signing.privateKey}`, ...offline, ...args], signing.password);
}

/** Signs a file and a statement about it. Both are written beside it. @param provenance the file with the JSON */
export async function signFile(cosign: Cosign, signing: Signing, [file, provenance]: readonly [string, string]) {
  const statement = [provenanceType, `--predicate=${provenance}`, attestationOf(file)];
  await Promise.all([
    sign(cosign, signing, ["sign-blob", signatureOf(file), file]),
    sign(cosign, signing, ["attest-blob", ...statement, file]),
  ]);
}

/** Checks signature and attestation of a file. @returns what is wrong; `undefined`: both are right */
export async function signatureProblem(cosign: Cosign, trust: Trust, file: string): Promise<string | undefined> {
  const checks = [
    ["verify-blob", signatureOf(file)],
    ["verify-blob-attestation", provenanceType, attestationOf(file)],
  ];
  for (const check of checks) {
    try {
      await cosign([...check, ...trust, file]);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      const [, why = error.message] = /Error: (.*)/.exec(error.message) ?? [];
      return `${path.basename(file)}: ${check[0]} failed: ${why}`;
    }
  }
  return undefined;
}

/** A statement about an image in a registry: its SBOM, or its provenance. `predicate` is the file with the JSON. */
export interface Statement {
  readonly type: "cyclonedx" | "slsaprovenance1";
  readonly predicate: string;
  readonly reference: string;
}

/** Whether an image in a registry has a trusted statement of this type with exactly this predicate. */
export async function hasStatement(cosign: Cosign, trust: Trust, statement: Statement): Promise<boolean> {
  const { type, predicate, reference } = statement;
  const printed = await cosign(["verify-attestation", `--type=${type}`, ...trust, reference]).catch(undefinedIfFailed);
  const envelopes = printed?.split("\n").filter((line) => line !== "") ?? [];
  const wanted: unknown = JSON.parse(await readFile(predicate, "utf8"));
  return envelopes.some((envelope) => {
    const { payload } = JSON.parse(envelope) as { readonly payload: string };
    return isDeepStrictEqual(JSON.parse(Buffer.from(payload, "base64").toString("utf8")).predicate, wanted);
  });
}
