/** Tests the image for arm64 by its files. No program of it runs here. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../tools/assets/run-command.ts";
import { type BuiltImage, buildImage } from "../../tools/image/build-image.ts";
import { checkImageTools } from "../../tools/image/buildah.ts";
import { readImageFile, readOciImage } from "../../tools/image/oci-layout.ts";
import { imageCache, imageEpochSeconds } from "../support/warm-image.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const problem = await checkImageTools().then(
  () => undefined,
  (error: Error) => error.message,
);

describe.skipIf(problem !== undefined)(
  `the arm64 image${problem === undefined ? "" : ` (skipped: ${problem})`}`,
  () => {
    let outDir = "";
    let own: BuiltImage;
    let other: BuiltImage;

    beforeAll(async () => {
      outDir = await mkdtemp(path.join(tmpdir(), "endpoint-operator-arm64-"));
      const how = { root, outDir, arm64: true, epochSeconds: imageEpochSeconds, cache: imageCache };
      [own, other = own] = await buildImage({ ...how, progress: () => undefined });
    }, 600_000);

    afterAll(() => rm(outDir, { recursive: true, force: true }));

    const blob = ({ layout }: BuiltImage, digest: string) => path.join(layout, "blobs", ...digest.split(":"));
    const configOf = async (image: BuiltImage) =>
      JSON.parse(await readFile(blob(image, (await readOciImage(image.layout)).config.digest), "utf8"));

    test("its configuration → arm64, and otherwise that of the other image", async () => {
      const [one, two] = [await configOf(own), await configOf(other)];
      expect([two.architecture, two.os]).toEqual(["arm64", "linux"]);
      expect(two.config).toEqual(one.config);
    });

    test("its bundle → the same bytes as in the other image", async () => {
      const files = ["app/endpoint-operator.js", "app/package.json", "app/packages.json"];
      for (const file of files)
        expect(await readImageFile(other.layout, file)).toBe(await readImageFile(own.layout, file));
    });

    test("its Node → a program for arm64, beside the libraries that it links", async () => {
      const { layers } = await readOciImage(other.layout);
      const [base = "", top = ""] = layers.map(({ digest }) => blob(other, digest));
      await runCommand({ command: "tar", args: ["-xzf", top, "--directory", outDir, "usr/local/bin/node"] });
      const elf = await readFile(path.join(outDir, "usr/local/bin/node"));
      // The magic number of ELF, and the number of the architecture AArch64.
      expect([elf.readUInt32BE(0), elf.readUInt16LE(18)]).toEqual([0x7f454c46, 183]);
      const names = await runCommand({ command: "tar", args: ["-tzf", base] });
      for (const library of ["libc.so.6", "libstdc++.so.6"])
        expect(names).toContain(`lib/aarch64-linux-gnu/${library}`);
    });

    test("its SBOM → packages of Debian for arm64", async () => {
      const text = await readFile(other.sbom, "utf8");
      expect(text).toContain("?arch=arm64");
      expect(text).not.toContain("?arch=amd64");
    });
  },
);
