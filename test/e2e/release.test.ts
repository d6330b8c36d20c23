import { generateKeyPairSync } from "node:crypto";
import { cp, mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { findAsset } from "../../tools/assets/resolve-assets.ts";
import { runCommand } from "../../tools/assets/run-command.ts";
import { buildImage } from "../../tools/image/build-image.ts";
import { checkImageTools } from "../../tools/image/buildah.ts";
import { brokenBlobs, readOciImage, sha256Of } from "../../tools/image/oci-layout.ts";
import { releaseProblems } from "../../tools/release/release.ts";
import { imageCache, imageEpochSeconds } from "../support/warm-image.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const { version } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8")) as { version: string };
const ignore = () => undefined;
const SOURCE_DATE_EPOCH = String(imageEpochSeconds);

const toolProblem = await checkImageTools().then(
  () => undefined,
  (error: Error) => error.message,
);
const hasCosign = (await findAsset("cosign")) !== undefined;
const problem = toolProblem ?? (hasCosign ? undefined : "there is no cosign; run: npm run assets -- --with cosign");
const note = problem === undefined ? "" : ` (skipped: ${problem})`;

describe.skipIf(problem !== undefined)(`npm run release -- --dry-run${note}`, () => {
  let directory = "";
  const first = () => path.join(directory, "first");
  const fileOf = (ending: string) => path.join(first(), `endpoint-operator-${version}${ending}`);
  const trust = () => ({ kind: "Key" as const, publicKey: path.join(first(), "cosign.pub") });

  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-release-"));
    const args = ["tools/release/cli.ts", "--dry-run", "--out", first(), "--cache", imageCache];
    await runCommand({ command: process.execPath, args, cwd: root, env: { ...process.env, SOURCE_DATE_EPOCH } });
  }, 600_000);

  afterAll(() => rm(directory, { recursive: true, force: true }));

  test("a release → every file is listed; the command has verified them all", async () => {
    const sums = await readFile(path.join(first(), "SHA256SUMS"), "utf8");
    expect(
      sums
        .trimEnd()
        .split("\n")
        .map((line) => line.split("  ")[1]),
    ).toEqual([
      `endpoint-operator-${version}.oci.tar`,
      `endpoint-operator-${version}.cdx.json`,
      `endpoint-operator-${version}.tgz`,
      `endpoint-operator-crds-${version}.tgz`,
    ]);
  });

  // From nothing it takes two minutes; from the cache it shares the base images and the npm packages with the first build.
  const isLong = process.env.LONG === "1";
  const title = isLong ? "a build without the cache" : "a second build of the image";
  test(`${title} → the same digest, archive and SBOM`, { timeout: 600_000 }, async () => {
    const outDir = path.join(directory, "second");
    const cache = isLong ? undefined : imageCache;
    const epochSeconds = imageEpochSeconds;
    const second = await buildImage({ root, outDir, epochSeconds, cache, progress: ignore });
    expect(second.digest).toBe((await readOciImage(fileOf(".oci"))).digest);
    expect(await sha256Of(second.archive)).toBe(await sha256Of(fileOf(".oci.tar")));
    expect(await readFile(second.sbom, "utf8")).toBe(await readFile(fileOf(".cdx.json"), "utf8"));
  });

  test("the SBOM → exactly the npm packages whose code is in the bundle", async () => {
    const { components } = JSON.parse(await readFile(fileOf(".cdx.json"), "utf8"));
    const purls = (components as { purl: string }[]).map(({ purl }) => purl);
    const npm = purls.filter((purl) => purl.startsWith("pkg:npm/"));
    expect(npm.sort()).toEqual(await bundledPurls());
    expect(new Set(purls).size).toBe(purls.length);
    expect(purls).toContain(`pkg:generic/node@${process.versions.node}`);
    expect(purls.filter((purl) => purl.startsWith("pkg:deb/debian/libc6@"))).toHaveLength(1);
  });

  test("image, SBOM and chart are changed by one byte each → checksum and signature of each fail, and of no other", async () => {
    const copy = await copyOfRelease();
    const changed = [".oci.tar", ".cdx.json", ".tgz"].map((ending) => path.basename(fileOf(ending)));
    for (const name of changed) await changeByte(path.join(copy, name));
    const named = (await releaseProblems(copy, trust(), ignore)).map((line) => line.split(":")[0]);
    expect([...new Set(named)].sort()).toEqual(changed.sort());
    for (const name of changed) expect(named.filter((each) => each === name).length).toBeGreaterThanOrEqual(2);
  });

  test("file and checksum are changed together → the signatures do not fit", async () => {
    const copy = await copyOfRelease();
    const name = path.basename(fileOf(".tgz"));
    const before = await sha256Of(path.join(copy, name));
    await changeByte(path.join(copy, name));
    const sums = path.join(copy, "SHA256SUMS");
    const after = await sha256Of(path.join(copy, name));
    await writeFile(sums, (await readFile(sums, "utf8")).replace(before, after));
    const problems = await releaseProblems(copy, trust(), ignore);
    expect(problems.map((line) => line.split(":")[0])).toEqual([name, "SHA256SUMS"]);
  });

  test("a key of another run → no file is trusted", async () => {
    const copy = await copyOfRelease();
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const other = path.join(copy, "other.pub");
    await writeFile(other, publicKey.export({ type: "spki", format: "pem" }));
    expect(await releaseProblems(copy, { kind: "Key", publicKey: other }, ignore)).toHaveLength(5);
  });

  test("a layer of the layout is changed → its digest does not fit", async () => {
    const copy = path.join(directory, "layout");
    await cp(fileOf(".oci"), copy, { recursive: true });
    expect(await brokenBlobs(copy)).toEqual([]);
    const layer = (await readOciImage(copy)).layers.at(-1)?.digest ?? "";
    await changeByte(path.join(copy, "blobs", ...layer.split(":")));
    expect(await brokenBlobs(copy)).toEqual([expect.stringContaining(layer)]);
  });

  async function copyOfRelease(): Promise<string> {
    const copy = await mkdtemp(path.join(directory, "copy-"));
    onTestFinished(() => rm(copy, { recursive: true, force: true }));
    await cp(first(), copy, { recursive: true });
    return copy;
  }
});

/** Turns one byte in the middle of a file into another one. */
async function changeByte(file: string): Promise<void> {
  const handle = await open(file, "r+");
  try {
    const { size } = await handle.stat();
    const byte = Buffer.alloc(1);
    const at = Math.floor(size / 2);
    await handle.read(byte, 0, 1, at);
    byte[0] = (byte[0] ?? 0) ^ 1;
    await handle.write(byte, 0, 1, at);
  } finally {
    await handle.close();
  }
}

/** What esbuild itself says is in the bundle. */
async function bundledPurls(): Promise<readonly string[]> {
  const { metafile } = await build({
    ...{ absWorkingDir: root, entryPoints: ["src/main.ts"], outdir: "unused", bundle: true, splitting: true },
    ...{ format: "esm", platform: "node", target: "node24", metafile: true, write: false, logLevel: "silent" },
  });
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs));
  const folders = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const purls = await Promise.all(
    [...folders].map(async (folder) => {
      const text = await readFile(path.join(root, folder, "package.json"), "utf8");
      const described = JSON.parse(text) as { name: string; version: string };
      return `pkg:npm/${described.name.replace("@", "%40")}@${described.version}`;
    }),
  );
  return [...new Set(purls)].sort();
}
