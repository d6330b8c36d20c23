// Makes and verifies a release: `npm run release -- --dry-run`.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { AssetError } from "../assets/asset-error.ts";
import type { ProgressSink } from "../assets/progress.ts";
import { runCommand } from "../assets/run-command.ts";
import { ImageToolsMissing } from "../image/buildah.ts";
import { runTool, UsageError } from "../process/command-line.ts";
import { type Cosign, findCosign, type Trust } from "./cosign.ts";
import type { Place } from "./place.ts";
import { PublishError, publishRelease } from "./publish.ts";
import { publishedProblems } from "./published.ts";
import { publishRefusal } from "./refusal.ts";
import { openRegistry } from "./registry.ts";
import { makeRelease, packageVersion } from "./release.ts";
import { imageDigest, type ReleaseFiles, releaseFiles } from "./release-files.ts";
import { type SigningChoice, trustIn, withSigning } from "./signing.ts";
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

/** The values that every form of the command uses. */
interface Surroundings {
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
  const surroundings = { cosign: await findCosign(progress, signal), progress, signal };
  if (values.verify !== undefined) return await verify(values.verify, values, surroundings);
  return await release({ root, version }, values, surroundings);
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
async function release(
  { root, version }: { readonly root: string; readonly version: string },
  values: Values,
  surroundings: Surroundings,
): Promise<number> {
  const { cosign, progress, signal } = surroundings;
  const outDir = path.resolve(values.from ?? values.out);
  const cache = values.cache === undefined ? undefined : path.resolve(values.cache);
  return await withSigning(cosign, signingChoice(values), async (signing) => {
    const trust = trustIn(signing, () => trustOf(values));
    if (values.from === undefined)
      await makeRelease({ root, outDir, version, registry: values.registry, cosign, signing, cache, progress, signal });
    const files = releaseFiles(outDir, version);
    const problems = await releaseProblems(files, cosign, trust);
    if (problems.length > 0) return failed([...problems, "Verification failed. Nothing was published."]);
    console.log(`${path.basename(files.layout)} ${await imageDigest(files)}`);
    await printVerified(outDir);
    if (values.registry === undefined) return 0;
    const place = await placeAt(values.registry, surroundings);
    await publishRelease(files, place, { signing, trust }, progress);
    return await verifyPublished(files, place, trust);
  });
}

async function verify(folder: string, values: Values, surroundings: Surroundings): Promise<number> {
  const files = await releaseIn(path.resolve(folder));
  const trust = trustOf(values);
  const problems = await releaseProblems(files, surroundings.cosign, trust);
  if (problems.length > 0) return failed([...problems, "Verification failed."]);
  await printVerified(files.outDir);
  if (values.registry === undefined) return 0;
  return await verifyPublished(files, await placeAt(values.registry, surroundings), trust);
}

async function verifyPublished(files: ReleaseFiles, place: Place, trust: Trust): Promise<number> {
  const problems = await publishedProblems(files, place, trust);
  if (problems.length > 0)
    return failed([...problems, `What ${place.address} holds is not this release. Do not announce it.`]);
  console.log(`verified: what ${place.address} holds is this release`);
  return 0;
}

async function placeAt(address: string, { cosign, progress, signal }: Surroundings): Promise<Place> {
  return { address, cosign, registry: await openRegistry(address, progress, signal) };
}

function signingChoice(values: Values): SigningChoice {
  if (values["signing-key"] !== undefined) {
    const password = process.env.COSIGN_PASSWORD ?? "";
    return { kind: "KeyFile", file: path.resolve(values["signing-key"]), password };
  }
  return { kind: values["dry-run"] ? "KeyOfThisRun" : "Keyless" };
}

/** A keyless release of a workflow is verified with the identity of that workflow. */
function trustOf({ key, issuer, identity }: Values): Trust {
  if (key !== undefined) return { kind: "Key", publicKey: path.resolve(key) };
  const { GITHUB_SERVER_URL: server, GITHUB_WORKFLOW_REF: workflow } = process.env;
  const name = identity ?? (workflow === undefined ? undefined : `${server}/${workflow}`);
  if (name === undefined) throw new UsageError("Name --key FILE, or --identity for a keyless release.");
  return { kind: "Identity", identity: name, issuer };
}

async function printVerified(outDir: string): Promise<void> {
  const files = await runCommand({ command: "ls", args: ["-1", outDir] });
  console.log(`verified: ${outDir}\n${files.trimEnd()}`);
}

function failed(lines: readonly string[]): number {
  for (const line of lines) console.error(line);
  return 1;
}

await runTool({ usage, main, expected: [ImageToolsMissing, AssetError, PublishError] });
