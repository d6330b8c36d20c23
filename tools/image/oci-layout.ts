/** Reads OCI layouts. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { runCommand } from "../assets/run-command.ts";

interface Blob {
  readonly digest: string;
}

export interface OciImage {
  /** The digest of the manifest. A cluster pulls the image by it. */
  readonly digest: string;
  readonly config: Blob;
  /** The layers, the lowest first. */
  readonly layers: readonly Blob[];
}

const fileOf = (layout: string, digest: string) => path.join(layout, "blobs", ...digest.split(":"));

/** Reads the image of a layout. @throws Error when there is not exactly one */
export async function readOciImage(layout: string): Promise<OciImage> {
  const digest = digestIn(await readFile(path.join(layout, "index.json"), "utf8"));
  const { config, layers } = JSON.parse(await readFile(fileOf(layout, digest), "utf8")) as OciImage;
  return { digest, config, layers };
}

/** Returns the digest of the image in an archive of a layout. @throws Error when there is not exactly one */
export async function archivedDigest(archive: string): Promise<string> {
  return digestIn(await runCommand({ command: "tar", args: ["-xOf", archive, "./index.json"] }));
}

function digestIn(index: string): string {
  const [only, ...others] = (JSON.parse(index) as { readonly manifests: readonly Blob[] }).manifests;
  if (only === undefined || others.length > 0) throw new Error("the index does not name exactly one image");
  return only.digest;
}

/** Reads a file, or all files of a folder, from the topmost layer that has it. @throws Error when none has it */
export async function readImageFile(layout: string, name: string): Promise<string> {
  const { layers } = await readOciImage(layout);
  for (const { digest } of layers.toReversed()) {
    const args = ["--extract", "--gzip", "--to-stdout", "--file", fileOf(layout, digest), name];
    const text = await runCommand({ command: "tar", args }).catch(() => undefined);
    if (text !== undefined) return text;
  }
  throw new Error(`no layer of ${layout} has the file ${name}`);
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
