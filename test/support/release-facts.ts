/** Reads what a registry and a release hold. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { build } from "esbuild";
import { libraryFile } from "../../src/sandbox/page/page-files.ts";
import { resolveAssets } from "../../tools/assets/resolve-assets.ts";
import { runCommand } from "../../tools/assets/run-command.ts";
import { clientLibraryPlugin } from "../../tools/build.ts";

interface Blob {
  readonly digest: string;
  readonly size: number;
}

/** Runs crane, which reads and changes a registry. @throws CommandError */
export async function crane(...args: readonly string[]): Promise<string> {
  return (await runCommand({ command: (await resolveAssets(["crane"])).crane, args })).trim();
}

/** Returns the manifest of an image or a chart in a registry. */
export async function manifestOf(reference: string): Promise<{ readonly layers: readonly Blob[] }> {
  return JSON.parse(await crane("manifest", reference));
}

/**
 * Returns the largest blob that is attached to an image in a registry: its signed SBOM.
 * @param image with a tag or a digest
 */
export async function statementBlob(image: string): Promise<string | undefined> {
  const repository = image.replace(/[:@][^/]*$/, "");
  const referrers = (await crane("digest", image)).replace(":", "-");
  const { manifests } = JSON.parse(await crane("manifest", `${repository}:${referrers}`)) as {
    readonly manifests: readonly Blob[];
  };
  const attached = await Promise.all(manifests.map(({ digest }) => manifestOf(`${repository}@${digest}`)));
  return attached.flatMap(({ layers }) => layers).toSorted((a, b) => b.size - a.size)[0]?.digest;
}

/** Returns the packages that esbuild reports in the bundle of a repository and in the page, as package URLs. */
export async function bundledPurls(root: string): Promise<readonly string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["src/main.ts", libraryFile],
    outdir: "unused",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    metafile: true,
    write: false,
    logLevel: "silent",
    plugins: [clientLibraryPlugin],
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
