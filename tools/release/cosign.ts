/** Signs and verifies with cosign. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
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

/** Returns the path of a file's signature. Pure. */
export function signatureOf(file: string): string {
  return `${file}.sigstore.json`;
}

/** Returns the path of the signed statement of provenance about a file. Pure. */
export function attestationOf(file: string): string {
  return `${file}.provenance.sigstore.json`;
}

/** Signs a file. The signature is written beside it. */
export async function signFile(cosign: Cosign, signing: Signing, file: string): Promise<void> {
  await cosign(["sign-blob", ...signingArgs(signing), `--bundle=${signatureOf(file)}`, file], passwordOf(signing));
}

/** Signs a statement about a file. The attestation is written beside it. @param predicate the file with the JSON */
export async function attestFile(cosign: Cosign, signing: Signing, file: string, predicate: string): Promise<void> {
  const what = ["--type=slsaprovenance1", `--predicate=${predicate}`, `--bundle=${attestationOf(file)}`];
  await cosign(["attest-blob", ...signingArgs(signing), ...what, file], passwordOf(signing));
}

/** Checks signature and attestation of a file. @returns what is wrong; `undefined`: both are right */
export async function signatureProblem(cosign: Cosign, trust: Trust, file: string): Promise<string | undefined> {
  const checks = [
    ["verify-blob", `--bundle=${signatureOf(file)}`],
    ["verify-blob-attestation", "--type=slsaprovenance1", `--bundle=${attestationOf(file)}`],
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

/** Signs an image or a chart in a registry. @param reference its address with the digest */
export async function signReference(cosign: Cosign, signing: Signing, reference: string): Promise<void> {
  await cosign(["sign", ...signingArgs(signing), reference], passwordOf(signing));
}

/** Attaches a signed statement to an image in a registry. @param predicate the file with the JSON */
export async function attestReference(
  cosign: Cosign,
  signing: Signing,
  reference: string,
  { type, predicate }: { readonly type: StatementType; readonly predicate: string },
): Promise<void> {
  const what = [`--type=${type}`, `--predicate=${predicate}`];
  await cosign(["attest", ...signingArgs(signing), ...what, reference], passwordOf(signing));
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
  reference: string,
  { type, predicate }: { readonly type: StatementType; readonly predicate: string },
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

/** The content of a statement about an image: its SBOM, or its provenance. */
export type StatementType = "cyclonedx" | "slsaprovenance1";

function lastError(message: string): string {
  return /Error: (.*)/.exec(message)?.[1] ?? message;
}

function passwordOf(signing: Signing): string {
  return signing.kind === "Key" ? signing.password : "";
}

/** With a key, cosign needs no service of Sigstore. So a dry run works without a network. */
function signingArgs(signing: Signing): readonly string[] {
  return signing.kind === "Key"
    ? [`--key=${signing.privateKey}`, "--use-signing-config=false", "--tlog-upload=false"]
    : [];
}

function trustArgs(trust: Trust): readonly string[] {
  return trust.kind === "Key"
    ? [`--key=${trust.publicKey}`, "--insecure-ignore-tlog=true"]
    : [`--certificate-identity=${trust.identity}`, `--certificate-oidc-issuer=${trust.issuer}`];
}
