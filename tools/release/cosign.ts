/** Signs and verifies with cosign. */
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ProgressSink } from "../assets/progress.ts";
import { resolveAssets } from "../assets/resolve-assets.ts";
import { CommandError, runCommand, undefinedIfFailed } from "../assets/run-command.ts";

/** How files are signed: with a key pair of this run, or with the identity of the workflow (keyless). */
export type Signing =
  | { readonly kind: "Key"; readonly privateKey: string; readonly publicKey: string; readonly password: string }
  | { readonly kind: "Keyless" };

/** The signer whose signatures are trusted. */
export type Trust =
  | { readonly kind: "Key"; readonly publicKey: string }
  | { readonly kind: "Identity"; readonly identity: string; readonly issuer: string };

/** Runs cosign. @throws CommandError with its last lines */
export type Cosign = (args: readonly string[], password?: string) => Promise<string>;

/** Finds or makes cosign. @throws AssetError when that is not possible */
export async function findCosign(progress: ProgressSink, signal?: AbortSignal): Promise<Cosign> {
  const { cosign: command } = await resolveAssets(["cosign"], { progress, signal });
  return (args, password = "") =>
    runCommand({ command, args, env: { ...process.env, COSIGN_PASSWORD: password, COSIGN_YES: "true" }, signal });
}

/** Makes a key pair in a folder: `cosign.key`, with its own password, and `cosign.pub`. */
export async function makeKeyPair(cosign: Cosign, directory: string): Promise<Signing & { readonly kind: "Key" }> {
  const password = randomBytes(24).toString("base64url");
  const prefix = path.join(directory, "cosign");
  await cosign(["generate-key-pair", `--output-key-prefix=${prefix}`], password);
  return { kind: "Key", privateKey: `${prefix}.key`, publicKey: `${prefix}.pub`, password };
}

/** The signer of a release: a key pair of this run, a private key of the user, or the identity of the workflow. */
export type SigningChoice =
  | { readonly kind: "KeyOfThisRun" }
  | { readonly kind: "KeyFile"; readonly file: string; readonly password: string }
  | { readonly kind: "Keyless" };

/** Runs `work` with a signer. A key pair of this run is removed afterwards. @throws CommandError about a wrong key */
export async function withSigning<T>(
  cosign: Cosign,
  choice: SigningChoice,
  work: (signing: Signing) => Promise<T>,
): Promise<T> {
  if (choice.kind === "Keyless") return await work(choice);
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-key-"));
  try {
    if (choice.kind === "KeyOfThisRun") return await work(await makeKeyPair(cosign, directory));
    const { file, password } = choice;
    const publicKey = path.join(directory, "cosign.pub");
    await writeFile(publicKey, await cosign(["public-key", `--key=${file}`], password));
    return await work({ kind: "Key", privateKey: file, publicKey, password });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A statement about an image: its SBOM, or its provenance. `predicate` is the file with the JSON. */
export interface Statement {
  readonly type: "cyclonedx" | "slsaprovenance1";
  readonly predicate: string;
}

const signatureOf = (file: string) => `--bundle=${file}.sigstore.json`;
const attestationOf = (file: string) => `--bundle=${file}.provenance.sigstore.json`;

/** Signs with a command of cosign. With a key, cosign needs no service of Sigstore, so a dry run works offline. */
async function sign(cosign: Cosign, signing: Signing, [command = "", ...args]: readonly string[]): Promise<void> {
  if (signing.kind === "Keyless") await cosign([command, ...args]);
  else {
    const offline = ["--use-signing-config=false", "--tlog-upload=false"];
    await cosign([command, `--key=${signing.privateKey}`, ...offline, ...args], signing.password);
  }
}

/** Signs a file and a statement about it. Both are written beside it. @param provenance the file with the JSON */
export async function signFile(cosign: Cosign, signing: Signing, [file, provenance]: readonly [string, string]) {
  const statement = ["--type=slsaprovenance1", `--predicate=${provenance}`, attestationOf(file)];
  await Promise.all([
    sign(cosign, signing, ["sign-blob", signatureOf(file), file]),
    sign(cosign, signing, ["attest-blob", ...statement, file]),
  ]);
}

/** Signs an image or a chart in a registry. @param reference its address with the digest */
export async function signReference(cosign: Cosign, signing: Signing, reference: string): Promise<void> {
  await sign(cosign, signing, ["sign", reference]);
}

/** Attaches a signed statement to an image in a registry. */
export async function attestReference(
  cosign: Cosign,
  signing: Signing,
  { type, predicate, reference }: Statement & { readonly reference: string },
): Promise<void> {
  await sign(cosign, signing, ["attest", `--type=${type}`, `--predicate=${predicate}`, reference]);
}

/** Checks signature and attestation of a file. @returns what is wrong; `undefined`: both are right */
export async function signatureProblem(cosign: Cosign, trust: Trust, file: string): Promise<string | undefined> {
  const checks = [
    ["verify-blob", signatureOf(file)],
    ["verify-blob-attestation", "--type=slsaprovenance1", attestationOf(file)],
  ];
  for (const check of checks) {
    try {
      await cosign([...check, ...trustArgs(trust), file]);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      return `${path.basename(file)}: ${check[0]} failed: ${lastError(error.message)}`;
    }
  }
  return undefined;
}

/** Verifies an image or a chart in a registry. @throws CommandError when no trusted signature is attached */
export async function verifyReference(cosign: Cosign, trust: Trust, reference: string): Promise<undefined> {
  await cosign(["verify", ...trustArgs(trust), reference]);
  return undefined;
}

/** Whether an image in a registry has a trusted statement of this type with exactly this predicate. */
export async function hasStatement(
  cosign: Cosign,
  trust: Trust,
  { type, predicate, reference }: Statement & { readonly reference: string },
): Promise<boolean> {
  const args = ["verify-attestation", `--type=${type}`, ...trustArgs(trust), reference];
  const printed = await cosign(args).catch(undefinedIfFailed);
  if (printed === undefined) return false;
  const envelopes = printed.split("\n").filter((line) => line !== "");
  const wanted: unknown = JSON.parse(await readFile(predicate, "utf8"));
  return envelopes.some((line) => isDeepStrictEqual(predicateIn(line), wanted));
}

function predicateIn(envelope: string): unknown {
  const { payload } = JSON.parse(envelope) as { readonly payload: string };
  return JSON.parse(Buffer.from(payload, "base64").toString("utf8")).predicate;
}

function lastError(message: string): string {
  return /Error: (.*)/.exec(message)?.[1] ?? message;
}

function trustArgs(trust: Trust): readonly string[] {
  return trust.kind === "Key"
    ? [`--key=${trust.publicKey}`, "--insecure-ignore-tlog=true"]
    : [`--certificate-identity=${trust.identity}`, `--certificate-oidc-issuer=${trust.issuer}`];
}
