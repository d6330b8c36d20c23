// Makes and verifies a release: `npm run release -- --dry-run`.
import { readdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { AssetError } from "../assets/asset-error.ts";
import type { ProgressSink } from "../assets/progress.ts";
import { packageVersion } from "../image/build-image.ts";
import { archivedDigest } from "../image/oci-layout.ts";
import { sourceDateSeconds } from "../image/same-bytes.ts";
import { runTool, UsageError } from "../process/command-line.ts";
import { type Cosign, findCosign, type Signing, type Trust, trustInKey, withKeyPair } from "./cosign.ts";
import { PublishError, publishedProblems, publishRelease } from "./publish.ts";
import { publishRefusal } from "./refusal.ts";
import { openRegistry } from "./registry.ts";
import { makeRelease } from "./release.ts";
import { type ReleaseFiles, releaseFiles } from "./release-files.ts";
import { releaseIn, releaseProblems } from "./verify.ts";

const usage = `Usage: npm run release -- (--dry-run | --registry REGISTRY [--from FOLDER] | --verify FOLDER [--registry REGISTRY]) [OPTION]...

Makes image, SBOM, charts, install.yaml, checksums, provenance and signatures in a folder, and verifies them.
  --dry-run            signs with a key of this run and publishes nothing
  --registry REGISTRY  publishes image and charts after everything is verified, for instance to ghcr.io/owner, and verifies them there.
                       HEAD must have the tag of package.json's version. Signs with the identity of the workflow (keyless)
  --from FOLDER        with --registry: publishes the release that an earlier run has made there
  --signing-key FILE   signs with this private key of cosign, whose password is in COSIGN_PASSWORD
  --verify FOLDER      only verifies, with --registry what is published too; with --key FILE, or with --identity and --issuer
  --out FOLDER         where to; it is emptied. Default: release
  --cache FOLDER       only with --dry-run: keeps base images and npm packages for the next build`;

const optionTypes = {
  "dry-run": { type: "boolean", default: false },
  registry: { type: "string" },
  from: { type: "string" },
  "signing-key": { type: "string" },
  verify: { type: "string" },
  key: { type: "string" },
  identity: { type: "string" },
  issuer: { type: "string", default: "https://token.actions.githubusercontent.com" },
  out: { type: "string", default: "release" },
  cache: { type: "string" },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof optionTypes }>>["values"];

interface Context {
  readonly values: Values;
  readonly cosign: Cosign;
  readonly progress: ProgressSink;
  readonly signal: AbortSignal;
}

async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: optionTypes });
  checkOptions(values);
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const version = await packageVersion(root);
  if (values.registry !== undefined && values.verify === undefined) {
    const refusal = await publishRefusal(root, version, process.env);
    if (refusal !== undefined) return failed([refusal, "Nothing was made or published."]);
  }
  const progress = (line: string) => console.log(line);
  const context = { values, cosign: await findCosign(progress, signal), progress, signal };
  if (values.verify === undefined) return await release(root, version, context);
  const files = await releaseIn(path.resolve(values.verify));
  return await verify(files, trustOf(values), context);
}

function checkOptions(values: Values): void {
  const { verify: folder, registry, from, cache } = values;
  const ways = [values["dry-run"], registry !== undefined && folder === undefined, folder !== undefined];
  if (ways.filter(Boolean).length !== 1)
    throw new UsageError("Name exactly one of --dry-run, --registry and --verify.");
  if (cache !== undefined && !values["dry-run"])
    throw new UsageError("A release that is published is made without --cache.");
  if (from !== undefined && (registry === undefined || folder !== undefined))
    throw new UsageError("--from belongs to --registry.");
}

/** Makes a release, or takes an existing one, and verifies it. Only then it publishes the release. */
async function release(root: string, version: string, context: Context): Promise<number> {
  const { values, cosign } = context;
  const { from, out, registry, cache, "signing-key": key, "dry-run": isDryRun } = values;
  const files = releaseFiles(path.resolve(from ?? out), version);
  const signedBy = async (signing: Signing) => {
    const trust = signing === "Keyless" ? trustOf(values) : trustInKey(signing.publicKey);
    if (from === undefined) {
      const epochSeconds = await sourceDateSeconds(root);
      const folder = cache === undefined ? undefined : path.resolve(cache);
      await makeRelease({ ...context, root, files, registry, signing, epochSeconds, cache: folder });
    }
    return await verify(files, trust, { ...context, signing });
  };
  if (key === undefined && !isDryRun) return await signedBy("Keyless");
  return await withKeyPair(cosign, key === undefined ? undefined : path.resolve(key), signedBy);
}

/** Verifies the files of a release, then publishes them if there is a signer, and verifies what is published. */
async function verify(
  files: ReleaseFiles,
  trust: Trust,
  { values: { registry: address }, cosign, progress, signal, signing }: Context & { readonly signing?: Signing },
): Promise<number> {
  const problems = await releaseProblems(files, cosign, trust);
  if (problems.length > 0) return failed([...problems, "Verification failed. Nothing was published."]);
  console.log(`${path.basename(files.archive)} ${await archivedDigest(files.archive)}`);
  console.log(`verified: ${files.outDir}\n${(await readdir(files.outDir)).sort().join("\n")}`);
  if (address === undefined) return 0;
  const place = { cosign, trust, registry: await openRegistry(address, progress, signal) };
  if (signing !== undefined) await publishRelease(files, place, { signing, progress });
  const different = await publishedProblems(files, place);
  if (different.length > 0)
    return failed([...different, `What ${address} holds is not this release. Do not announce it.`]);
  console.log(`verified: what ${address} holds is this release`);
  return 0;
}

/** A keyless release of a workflow is verified with the identity of that workflow. */
function trustOf({ key, issuer, identity }: Values): Trust {
  if (key !== undefined) return trustInKey(path.resolve(key));
  const { GITHUB_SERVER_URL: server, GITHUB_WORKFLOW_REF: workflow } = process.env;
  const name = identity ?? (workflow === undefined ? undefined : `${server}/${workflow}`);
  if (name === undefined) throw new UsageError("Name --key FILE, or --identity for a keyless release.");
  return [`--certificate-identity=${name}`, `--certificate-oidc-issuer=${issuer}`];
}

function failed(lines: readonly string[]): number {
  for (const line of lines) console.error(line);
  return 1;
}

await runTool({ usage, main, expected: [AssetError, PublishError] });
