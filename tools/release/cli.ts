// Makes and verifies a release: `npm run release -- --dry-run`.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { AssetError } from "../assets/asset-error.ts";
import type { ProgressSink } from "../assets/progress.ts";
import { runCommand } from "../assets/run-command.ts";
import { ImageToolsMissing } from "../image/buildah.ts";
import { isUsageError, UsageError } from "../process/usage-error.ts";
import type { Trust } from "./cosign.ts";
import { publishCharts, signImage } from "./publish.ts";
import { makeRelease, type Release, releaseProblems } from "./release.ts";

const usage = `Usage: npm run release -- (--dry-run | --registry REGISTRY | --verify FOLDER) [--out FOLDER] [--cache FOLDER]

Makes image, SBOM, charts, checksums, provenance and signatures in a folder, and verifies them.
  --dry-run            signs with a key of this run and publishes nothing
  --registry REGISTRY  signs with the identity of the workflow (keyless) and pushes image and charts, for instance to ghcr.io/owner
  --verify FOLDER      only verifies; with --key FILE, or with --identity and --issuer for a keyless release
  --out FOLDER         where to; it is emptied. Default: release
  --cache FOLDER       only with --dry-run: keeps base images and npm packages for the next build`;

async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      "dry-run": { type: "boolean", default: false },
      registry: { type: "string" },
      verify: { type: "string" },
      key: { type: "string" },
      identity: { type: "string" },
      issuer: { type: "string", default: "https://token.actions.githubusercontent.com" },
      out: { type: "string", default: "release" },
      cache: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return print(usage);
  const ways = [values["dry-run"], values.registry !== undefined, values.verify !== undefined];
  if (ways.filter(Boolean).length !== 1)
    throw new UsageError("Name exactly one of --dry-run, --registry and --verify.");
  if (values.cache !== undefined && !values["dry-run"])
    throw new UsageError("A release that is published is made without --cache.");
  const progress = (line: string) => console.log(line);
  if (values.verify !== undefined) return await verify(path.resolve(values.verify), trustOf(values), progress);
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const outDir = path.resolve(values.out);
  const { registry } = values;
  const signing = registry === undefined ? "Key" : "Keyless";
  const cache = values.cache === undefined ? undefined : path.resolve(values.cache);
  const release = await makeRelease({ root, outDir, signing, registry, cache, progress, signal });
  if (registry !== undefined) await publish(release, registry, progress);
  console.log(`${release.image.name}:${release.image.version} ${release.image.digest}`);
  return await verify(outDir, trustOf({ ...values, key: keyOf(release) }), progress);
}

function keyOf({ signing }: Release): string | undefined {
  return signing.kind === "Key" ? signing.publicKey : undefined;
}

async function publish(release: Release, registry: string, progress: ProgressSink): Promise<void> {
  await signImage(release.image, registry, progress);
  await publishCharts(release, registry, progress);
}

/** A keyless release of a workflow is verified against the identity of that workflow. */
function trustOf(values: {
  readonly key?: string | undefined;
  readonly identity?: string | undefined;
  readonly issuer: string;
}): Trust {
  const { key, issuer } = values;
  if (key !== undefined) return { kind: "Key", publicKey: path.resolve(key) };
  const { GITHUB_SERVER_URL: server, GITHUB_WORKFLOW_REF: workflow } = process.env;
  const identity = values.identity ?? (workflow === undefined ? undefined : `${server}/${workflow}`);
  if (identity === undefined) throw new UsageError("Name --key FILE, or --identity for a keyless release.");
  return { kind: "Identity", identity, issuer };
}

async function verify(outDir: string, trust: Trust, progress: ProgressSink): Promise<number> {
  const problems = await releaseProblems(outDir, trust, progress);
  for (const problem of problems) console.error(problem);
  const files = await runCommand({ command: "ls", args: ["-1", outDir] });
  console.log(problems.length > 0 ? "verification failed" : `verified: ${outDir}\n${files.trimEnd()}`);
  return problems.length > 0 ? 1 : 0;
}

function print(text: string): number {
  console.log(text);
  return 0;
}

const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => interruption.abort());

try {
  process.exitCode = await main(process.argv.slice(2), interruption.signal);
} catch (error) {
  const isForPeople = isUsageError(error) || error instanceof ImageToolsMissing || error instanceof AssetError;
  console.error(isForPeople ? (error as Error).message : error);
  if (isUsageError(error)) console.error(`\n${usage}`);
  process.exitCode = isUsageError(error) ? 2 : 1;
}
