/** Tests a whole release: build, signatures, verification, publishing. */
import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { findAsset, resolveAssets } from "../../tools/assets/resolve-assets.ts";
import { runCommand } from "../../tools/assets/run-command.ts";
import { checkImageTools } from "../../tools/image/buildah.ts";
import { archivedDigest, readImageFile, readOciImage, sha256Of } from "../../tools/image/oci-layout.ts";
import { type Cosign, findCosign, type KeyPair, makeKeyPair, trustInKey } from "../../tools/release/cosign.ts";
import { signRelease } from "../../tools/release/release.ts";
import { releaseFiles } from "../../tools/release/release-files.ts";
import { releaseIn, releaseProblems } from "../../tools/release/verify.ts";
import { changeByte } from "../support/change-byte.ts";
import { startRegistry, type TestRegistry } from "../support/registry.ts";
import { bundledPurls, crane, manifestOf, statementBlob } from "../support/release-facts.ts";
import { copyRepository, type RepositoryCopy } from "../support/repository-copy.ts";
import { imageCache, imageEpochSeconds } from "../support/warm-image.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const { version } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8")) as { version: string };
const fileNames = [
  ...[`endpoint-operator-${version}.oci.tar`, `endpoint-operator-${version}.cdx.json`],
  ...[`endpoint-operator-${version}-arm64.oci.tar`, `endpoint-operator-${version}-arm64.cdx.json`],
  ...[`endpoint-operator-${version}.tgz`, `endpoint-operator-crds-${version}.tgz`, "install.yaml"],
  ...[`kubectl-endpoints-${version}.tgz`, "compute-endpoints.yaml"],
];
const ignore = () => undefined;
const SOURCE_DATE_EPOCH = String(imageEpochSeconds);

const toolProblem = await checkImageTools().then(
  () => undefined,
  (error: Error) => error.message,
);
const missing = (
  await Promise.all(
    (["cosign", "crane", "helm", "registry"] as const).map(async (name) => (await findAsset(name)) ?? name),
  )
).find((found) => !found.includes("/"));
const problem = toolProblem ?? (missing && `there is no ${missing}; run: npm run assets -- --with ${missing}`);
const note = problem === undefined ? "" : ` (skipped: ${problem})`;

describe.skipIf(problem !== undefined)(`npm run release${note}`, () => {
  let directory = "";
  let cosign: Cosign;
  let registry: TestRegistry;
  const first = () => path.join(directory, "first");
  const files = () => releaseFiles(first(), version);
  const trust = (folder = first()) => trustInKey(path.join(folder, "cosign.pub"));
  const problemsIn = async (folder: string, trusted = trust(folder)) =>
    await releaseProblems(await releaseIn(folder), cosign, trusted);

  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-release-"));
    cosign = await findCosign(ignore);
    registry = await startRegistry((await resolveAssets(["registry"])).registry);
    // One login in Docker's configuration must be enough for crane, Helm, cosign and buildah.
    vi.stubEnv("DOCKER_CONFIG", path.dirname(registry.dockerConfig));
    vi.stubEnv("REGISTRY_AUTH_FILE", registry.dockerConfig);
    const args = ["tools/release/cli.ts", "--dry-run", "--out", first(), "--cache", imageCache];
    await runCommand({ command: process.execPath, args, cwd: root, env: { ...process.env, SOURCE_DATE_EPOCH } });
  }, 600_000);

  afterAll(async () => {
    vi.unstubAllEnvs();
    await registry?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test("--dry-run → every file is listed; the command has verified them all", async () => {
    const sums = (await readFile(files().checksums, "utf8")).trimEnd().split("\n");
    expect(sums.map((line) => line.split("  ")[1])).toEqual(fileNames);
    expect(await problemsIn(first())).toEqual([]);
  });

  test("install.yaml → the CRDs and what deploy/base has, with the image of this version", async () => {
    const objects = parseAllDocuments(await readFile(files().install, "utf8")).map((document) => document.toJS());
    const kinds = objects.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "CustomResourceDefinition")).toHaveLength(5);
    expect(kinds).toEqual(expect.arrayContaining(["Namespace", "Deployment", "ClusterRole", "ConfigMap"]));
    const { spec } = objects.find(({ kind }) => kind === "Deployment");
    expect(spec.template.spec.containers[0].image).toBe(`endpoint-operator:${version}`);
  });

  test("the plugin → its package runs alone, and the manifest for Krew names it with its checksum", async () => {
    const [archive, manifest] = files().plugin;
    const { metadata, spec } = parse(await readFile(manifest, "utf8"));
    expect([metadata.name, spec.version]).toEqual(["compute-endpoints", `v${version}`]);
    const [{ uri, sha256, bin }] = spec.platforms;
    expect([path.basename(uri), sha256]).toEqual([path.basename(archive), await sha256Of(archive)]);
    const folder = await mkdtemp(path.join(directory, "plugin-"));
    await runCommand({ command: "tar", args: ["--extract", "--gzip", "--file", archive, "--directory", folder] });
    expect(await runCommand({ command: path.join(folder, bin), args: ["--version"] })).toBe(`${version}\n`);
    expect(await readFile(path.join(folder, "LICENSE"), "utf8")).toContain("Apache License");
  });

  // Without the cache this takes two minutes. With it, the build shares the base images and the npm packages with the
  // first build.
  const isLong = process.env.LONG === "1";
  const title = isLong ? "npm run image --push, without the cache" : "npm run image --push";
  test(`${title} → the same digest, archive and SBOM; the registry has this digest`, { timeout: 600_000 }, async () => {
    const outDir = path.join(directory, "second");
    const reference = `${registry.address}/pushed/endpoint-operator:${version}`;
    const cache = isLong ? [] : ["--cache", imageCache];
    const args = ["tools/image/cli.ts", "--out", outDir, "--push", reference, ...cache];
    await runCommand({ command: process.execPath, args, cwd: root, env: { ...process.env, SOURCE_DATE_EPOCH } });
    const second = releaseFiles(outDir, version);
    expect(await sha256Of(second.archive)).toBe(await sha256Of(files().archive));
    expect(await readFile(second.sbom, "utf8")).toBe(await readFile(files().sbom, "utf8"));
    expect(await crane("digest", reference)).toBe(await archivedDigest(files().archive));
  });

  test("the SBOM → exactly the npm packages whose code is in the bundle", async () => {
    const { components } = JSON.parse(await readFile(files().sbom, "utf8"));
    const purls = (components as { purl: string }[]).map(({ purl }) => purl);
    const npm = purls.filter((purl) => purl.startsWith("pkg:npm/"));
    expect(npm.sort()).toEqual(await bundledPurls(root));
    expect(new Set(purls).size).toBe(purls.length);
    expect(purls).toContain(`pkg:generic/node@${process.versions.node}`);
    expect(purls.filter((purl) => purl.startsWith("pkg:deb/debian/libc6@"))).toHaveLength(1);
  });

  describe("the image for arm64", () => {
    const layoutOf = (end: string) => path.join(first(), `endpoint-operator-${version}${end}.oci`);
    const [own, other] = [() => layoutOf(""), () => layoutOf("-arm64")];
    const blob = (layout: string, digest: string) => path.join(layout, "blobs", ...digest.split(":"));
    const configOf = async (layout: string) =>
      JSON.parse(await readFile(blob(layout, (await readOciImage(layout)).config.digest), "utf8"));

    test("its configuration → arm64, and otherwise that of the other image", async () => {
      const [one, two] = [await configOf(own()), await configOf(other())];
      expect([two.architecture, two.os]).toEqual(["arm64", "linux"]);
      expect(two.config).toEqual(one.config);
    });

    test("its bundle → the same bytes as in the other image", async () => {
      const bundle = await readImageFile(own(), "app");
      // Two empty folders would be equal too.
      expect(bundle).toContain("CONTROL_PLANE_URL");
      expect(await readImageFile(other(), "app")).toBe(bundle);
    });

    test("its Node → a program for arm64, beside the libraries that it links", async () => {
      const { layers } = await readOciImage(other());
      const [base = "", top = ""] = layers.map(({ digest }) => blob(other(), digest));
      await runCommand({ command: "tar", args: ["-xzf", top, "--directory", directory, "usr/local/bin/node"] });
      const elf = await readFile(path.join(directory, "usr/local/bin/node"));
      // The magic number of ELF, and the number of the architecture AArch64.
      expect([elf.readUInt32BE(0), elf.readUInt16LE(18)]).toEqual([0x7f454c46, 183]);
      const names = await runCommand({ command: "tar", args: ["-tzf", base] });
      for (const library of ["libc.so.6", "libstdc++.so.6"])
        expect(names).toContain(`lib/aarch64-linux-gnu/${library}`);
    });

    test("its SBOM → packages of Debian for arm64", async () => {
      const text = await readFile(files().arm64[1], "utf8");
      expect(text).toContain("?arch=arm64");
      expect(text).not.toContain("?arch=amd64");
    });
  });

  describe("verification", () => {
    test("one byte is changed of each file but the last → their checksums and signatures fail, and those of no other file", async () => {
      const changed = fileNames.slice(0, -1);
      const copy = await copyOfRelease();
      for (const name of changed) await changeByte(path.join(copy, name));
      // The SBOM is compared with the archive, whichever of them has changed.
      const lines = (await problemsIn(copy)).filter((line) => !line.includes("the archive holds"));
      expect(lines.map((line) => line.split(":")[0]).sort()).toEqual(changed.flatMap((name) => [name, name]).sort());
    });

    test("file and checksum are changed together → the signatures do not fit", async () => {
      const copy = await copyOfRelease();
      const name = path.basename(files().charts[0] ?? "");
      const before = await sha256Of(path.join(copy, name));
      await changeByte(path.join(copy, name));
      const { checksums } = releaseFiles(copy, version);
      const after = await sha256Of(path.join(copy, name));
      await writeFile(checksums, (await readFile(checksums, "utf8")).replace(before, after));
      const problems = await problemsIn(copy);
      expect(problems.map((line) => line.split(":")[0])).toEqual([name, "SHA256SUMS"]);
    });

    test("a key of another run → no file is trusted", async () => {
      const copy = await copyOfRelease();
      const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const other = path.join(copy, "other.pub");
      await writeFile(other, publicKey.export({ type: "spki", format: "pem" }));
      expect(await problemsIn(copy, trustInKey(other))).toHaveLength(10);
    });
  });

  describe("--registry", () => {
    let repository: RepositoryCopy;
    let signing: KeyPair;
    let signed = "";

    beforeAll(async () => {
      repository = await copyRepository(root);
      await repository.git("tag", `v${version}`);
      signing = await makeKeyPair(cosign, directory);
      signed = path.join(directory, "signed");
      await cp(first(), signed, { recursive: true });
      await signRelease(releaseFiles(signed, version), cosign, signing);
    });

    afterAll(() => repository?.remove());

    interface Ended {
      readonly code: number;
      readonly output: string;
    }

    /** Runs the command at a commit that has the tag of its version. */
    async function release(args: readonly string[]): Promise<Ended> {
      const { GITHUB_REF_TYPE: _type, GITHUB_REF_NAME: _name, ...own } = process.env;
      const env = { ...own, COSIGN_PASSWORD: signing.password };
      const options = { cwd: repository.root, env, maxBuffer: 10_000_000 };
      const { promise, resolve } = Promise.withResolvers<Ended>();
      execFile(process.execPath, ["tools/release/cli.ts", ...args], options, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}\n${stderr}` }),
      );
      return await promise;
    }

    const publish = (owner: string, from = signed) =>
      release(["--registry", `${registry.address}/${owner}`, "--from", from, "--signing-key", signing.privateKey]);
    const verify = (owner: string) =>
      release(["--verify", signed, "--registry", `${registry.address}/${owner}`, "--key", signing.publicKey]);
    const ownedBy = async (owner: string) =>
      (await registry.repositories()).filter((name) => name.startsWith(`${owner}/`));

    test("a chart is changed → verification fails before anything is pushed", async () => {
      const copy = await copyOfRelease(signed);
      await changeByte(releaseFiles(copy, version).charts[0] ?? "");
      const { code, output } = await publish("changed", copy);
      expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining("Nothing was published.") });
      expect(await ownedBy("changed")).toEqual([]);
    });

    test("publishing stops half way → the message says what is published and how to go on; the same files then complete it", async () => {
      const digest = await archivedDigest(files().archive);
      const charts = registry.folderOf("kept/charts");
      await cp(path.join(root, "LICENSE"), charts, { recursive: true });
      const stopped = await publish("kept");
      expect(stopped.code).toBe(1);
      const [, published = "", rest = ""] =
        /\nPublished:\n([\s\S]*)\nNot published, or only begun:\n([\s\S]*)\nTo go on/.exec(stopped.output) ?? [];
      expect(published).toContain(`kept/endpoint-operator@${digest}, without a tag`);
      expect(published).toContain(`the tag ${registry.address}/kept/endpoint-operator:${version}`);
      expect(published).not.toContain("the chart");
      expect(rest.trim()).toMatch(/^the chart \S+\/endpoint-operator:[\s\S]*the chart \S+\/endpoint-operator-crds:/);
      expect(stopped.output).toMatch(
        /To go on .*: npm run release -- --registry \S+\/kept --from \S+ --signing-key FILE/,
      );
      expect(await ownedBy("kept")).toEqual(["kept/endpoint-operator"]);
      await rm(charts);
      expect(await publish("kept")).toMatchObject({ code: 0 });
      expect(await ownedBy("kept")).toEqual([
        ...["kept/charts/endpoint-operator", "kept/charts/endpoint-operator-crds", "kept/endpoint-operator"],
      ]);
      expect(await verify("kept")).toMatchObject({ code: 0 });
    });

    // The test above has published it.
    describe("the release that is then published", () => {
      const publishedAt = (name: string) => `${registry.address}/kept/${name}:${version}`;
      const image = () => publishedAt("endpoint-operator");
      const chart = () => publishedAt("charts/endpoint-operator");
      const platform = async () =>
        `${registry.address}/kept/endpoint-operator@${await archivedDigest(files().archive)}`;

      test("the tag → names the images of both platforms, and is signed", async () => {
        const wanted = [await archivedDigest(files().archive), await archivedDigest(files().arm64[0])];
        const of = (architecture: string) => crane("digest", "--platform", `linux/${architecture}`, image());
        expect([await of("amd64"), await of("arm64")]).toEqual(wanted);
        await cosign(["verify", ...trustInKey(signing.publicKey), image()]);
      });

      test("another image gets the tag, then the version is published again → refused, and the tag stays", async () => {
        await crane("mutate", "--label", "changed=yes", "--tag", image(), await platform());
        const other = await crane("digest", image());
        const { code, output } = await publish("kept");
        expect({ code, output }).toEqual({
          code: 1,
          output: expect.stringMatching(/is published already[\s\S]*Nothing was published/),
        });
        expect(await crane("digest", image())).toBe(other);
      });

      // The test above has moved the tag.
      test("the tag, a layer, a chart and the signed SBOM are changed in the registry → verification of what is published names each", async () => {
        const layer = (await manifestOf(await platform())).layers.at(-1)?.digest;
        const digests = [layer, (await manifestOf(chart())).layers[0]?.digest, await statementBlob(await platform())];
        const blobs = digests.map((digest = "") => registry.blobOf(digest));
        for (const blob of blobs) await changeByte(blob);
        const { code, output } = await verify("kept");
        expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining("is not this release") });
        const named = [
          `${image()}, for both platforms: it is an image of one platform`,
          `${await platform()}, without a tag:`,
          `the chart ${chart()}:`,
          `the signed statement cyclonedx about ${await platform()}:`,
        ];
        for (const name of named) expect(output).toContain(name);
      });
    });
  });

  async function copyOfRelease(from = first()): Promise<string> {
    const copy = await mkdtemp(path.join(directory, "copy-"));
    onTestFinished(() => rm(copy, { recursive: true, force: true }));
    await cp(from, copy, { recursive: true });
    return copy;
  }
});
