/** Reads and checks OCI layouts. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { runCommand } from "../assets/run-command.ts";

/** A reference to a blob of an OCI layout. */
export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:` and hexadecimal digits. */
  readonly digest: string;
  readonly size: number;
}

interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/** An image of an OCI layout. */
export interface OciImage {
  /** The digest of the manifest. A cluster pulls the image by it. */
  readonly digest: string;
  readonly config: Descriptor;
  /** The layers, the lowest first. */
  readonly layers: readonly Descriptor[];
}

const fileOf = (layout: string, digest: string) => path.join(layout, "blobs", ...digest.split(":"));

/** Reads the image of a layout. @throws Error when there is not exactly one */
export async function readOciImage(layout: string): Promise<OciImage> {
  const index = JSON.parse(await readFile(path.join(layout, "index.json"), "utf8")) as { manifests: Descriptor[] };
  const [only, ...others] = index.manifests;
  if (only === undefined || others.length > 0) throw new Error(`${layout} does not hold exactly one image`);
  const manifest = JSON.parse(await readFile(fileOf(layout, only.digest), "utf8")) as Manifest;
  return { digest: only.digest, config: manifest.config, layers: manifest.layers };
}

/** Compares every blob with its digest. @returns a line for each blob that differs; empty if the image is complete */
export async function brokenBlobs(layout: string): Promise<readonly string[]> {
  const image = await readOciImage(layout);
  const digests = [image.digest, image.config.digest, ...image.layers.map(({ digest }) => digest)];
  const problems = await Promise.all(
    digests.map(async (digest) => {
      const found = await sha256Of(fileOf(layout, digest)).catch(() => "no file");
      return `sha256:${found}` === digest ? [] : [`blob ${digest} is ${found}`];
    }),
  );
  return problems.flat();
}

/** Reads a file from the topmost layer that has it. @throws Error when no layer has it */
export async function readImageFile(layout: string, name: string): Promise<string> {
  const { layers } = await readOciImage(layout);
  for (const { digest } of layers.toReversed()) {
    const text = await runCommand({
      command: "tar",
      args: ["--extract", "--gzip", "--to-stdout", "--file", fileOf(layout, digest), name],
    }).catch(() => undefined);
    if (text !== undefined) return text;
  }
  throw new Error(`no layer of ${layout} has the file ${name}`);
}

/** Returns the SHA-256 of a file in hexadecimal. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
