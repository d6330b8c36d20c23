/** Builds the image for arm64 beside that of this machine. Nothing of it runs here. */
import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { runCommand } from "../assets/run-command.ts";
import { commit, makeRuntimeImage } from "./base-images.ts";
import type { Bases } from "./bases.ts";
import { buildFile } from "./buildah.ts";

const architecture = "arm64";

/** The images from which the last stages copy. Their names are only in buildah's storage. */
const bases = { build: "docker.io/library/bundle:arm64", runtime: "docker.io/library/debian:arm64" };

/**
 * Builds the last stages of the Dockerfile for arm64. They only copy files: the bundle of the finished image, Debian's
 * packages, and the Node of the npm package for arm64.
 * @returns the Debian packages in it. @throws CommandError
 */
export async function buildArm64Image(
  workspace: Bases,
  { target, reference, finished }: { readonly target: string; readonly reference: string; readonly finished: string },
) {
  const [, second] = [...workspace.dockerfile.matchAll(/^FROM \S+/gm)];
  if (second === undefined) throw new Error("the Dockerfile has no second stage");
  const stages = workspace.dockerfile.slice(second.index + second[0].length);
  const debian = await makeRuntimeImage(workspace, bases.runtime, architecture);
  const node = await unpackNode(path.join(workspace.directory, "node"));
  const files = [["/app", "/work/dist", finished] as const, [node, "/usr/local/bin/node"] as const];
  await commit(workspace, bases.build, { files, architecture });
  const text = `FROM ${bases.build} AS build\nFROM ${bases.runtime}${stages}`;
  await buildFile(workspace, { text, target, reference, architecture });
  return debian;
}

async function unpackNode(directory: string): Promise<string> {
  await mkdir(directory);
  const wanted = `node-linux-${architecture}@${process.versions.node}`;
  await runCommand({ command: "npm", args: ["pack", wanted, "--silent", "--pack-destination", directory] });
  const [archive = ""] = await readdir(directory);
  const program = "package/bin/node";
  const from = ["--file", path.join(directory, archive), "--directory", directory];
  await runCommand({ command: "tar", args: ["--extract", "--gzip", ...from, program] });
  return path.join(directory, program);
}
