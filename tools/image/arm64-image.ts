/** Builds the image for arm64 beside that of this machine. Nothing of it runs here. */
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { type ProgressSink, withProgress } from "../assets/progress.ts";
import { runCommand } from "../assets/run-command.ts";
import { commit, makeRuntimeImage } from "./base-images.ts";
import { buildFile } from "./build-file.ts";
import { type BuiltImage, writeBeside } from "./build-image.ts";
import { withBuildah } from "./buildah.ts";
import { readOciImage } from "./oci-layout.ts";

/** What the arm64 image is made from. */
export interface Arm64Options {
  readonly root: string;
  readonly outDir: string;
  /** The finished image of this machine, whose bundle is the same for every architecture. */
  readonly image: BuiltImage;
  readonly target: string;
  readonly epochSeconds: number;
  readonly progress: ProgressSink;
  readonly signal?: AbortSignal | undefined;
}

const architecture = "arm64";

/**
 * Builds the last stages of the Dockerfile for arm64. They only copy files: the bundle, Debian's packages, and the Node
 * of the npm package for arm64. @throws CommandError
 */
export function buildArm64Image(options: Arm64Options): Promise<BuiltImage> {
  const { root, outDir, image, target, epochSeconds, progress, signal } = options;
  const { name, version } = image;
  const reference = `docker.io/library/${name}:${version}-${architecture}`;
  const layout = path.join(outDir, `${name}-${version}-${architecture}.oci`);
  const build = () =>
    withBuildah(
      async (buildah, directory) => {
        const text = await readFile(path.join(root, "Dockerfile"), "utf8");
        const bases = { buildah, directory, dockerfile: text, epochSeconds, architecture };
        const { base, stages } = lastStages(text);
        const debian = await makeRuntimeImage(bases, base);
        const files = await bundleAndNode(image.layout, directory);
        await commit(bases, "docker.io/library/bundle:latest", files, []);
        const dockerfile = `FROM docker.io/library/bundle:latest AS build\n${stages}`;
        await buildFile(buildah, { root, text: dockerfile, directory, target, reference, architecture, epochSeconds });
        await rm(layout, { recursive: true, force: true });
        await buildah(["push", "--quiet", reference, `oci:${layout}:${reference}`]);
        return debian;
      },
      { signal },
    );
  return withProgress(progress, `Building ${name}:${version} for ${architecture}`, async () =>
    writeBeside({ layout, name, version, suffix: `-${architecture}`, epochSeconds, outDir, debian: await build() }),
  );
}

/** Returns the stages after the first one, and their base image. Pure. @throws Error when there is only one stage */
function lastStages(text: string): { readonly base: string; readonly stages: string } {
  const [, second] = [...text.matchAll(/^FROM (\S+)/gm)];
  if (second === undefined) throw new Error("the Dockerfile has no second stage");
  return { base: second[1] ?? "", stages: text.slice(second.index) };
}

/** Unpacks the bundle of an image, and the Node for arm64. @returns source and target of each copy, one after the other */
async function bundleAndNode(layout: string, directory: string): Promise<readonly string[]> {
  const [bundle, node] = [path.join(directory, "bundle"), path.join(directory, "node")];
  await Promise.all([mkdir(bundle), mkdir(node)]);
  for (const { digest } of (await readOciImage(layout)).layers) {
    const blob = path.join(layout, "blobs", ...digest.split(":"));
    const names = await runCommand({ command: "tar", args: ["--list", "--gzip", "--file", blob] });
    if (!/^app\//m.test(names)) continue;
    await runCommand({ command: "tar", args: ["--extract", "--gzip", "--file", blob, "--directory", bundle, "app"] });
  }
  const wanted = `node-linux-${architecture}@${process.versions.node}`;
  await runCommand({ command: "npm", args: ["pack", wanted, "--silent", "--pack-destination", node] });
  const [archive = ""] = await readdir(node);
  await runCommand({
    command: "tar",
    args: ["--extract", "--gzip", "--file", path.join(node, archive), "--directory", node, "package/bin/node"],
  });
  return [path.join(bundle, "app"), "/work/dist", path.join(node, "package/bin/node"), "/usr/local/bin/node"];
}
