/** Pushes to a registry and reads from it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { ProgressSink } from "../assets/progress.ts";
import { resolveAssets } from "../assets/resolve-assets.ts";
import { runCommand, undefinedIfFailed } from "../assets/run-command.ts";
import { isLoopbackRegistry } from "../image/buildah.ts";
import { sha256Of } from "../image/oci-layout.ts";

/**
 * A registry, with the logins of the user's Docker configuration. Each call throws CommandError when the registry
 * refuses it.
 */
export type Registry = Awaited<ReturnType<typeof openRegistry>>;

/** Opens the registry of an address. @throws AssetError when crane or helm is not available */
export async function openRegistry(address: string, progress: ProgressSink, signal?: AbortSignal) {
  const tools = await resolveAssets(["crane", "helm"], { progress, signal });
  const crane = (...args: readonly string[]) => runCommand({ command: tools.crane, args, signal });
  const plain = isLoopbackRegistry(address) ? ["--plain-http"] : [];
  const helm = (...args: readonly string[]) => runCommand({ command: tools.helm, args: [...args, ...plain], signal });
  return {
    address,
    /** Pushes an image byte by byte. @param archive of an OCI layout @param reference with a digest: it gets no tag */
    pushImage: (archive: string, reference: string) =>
      inFolder(async (layout) => {
        await runCommand({ command: "tar", args: ["--extract", "--file", archive, "--directory", layout] });
        await crane("push", layout, reference);
      }),
    /** Gives the images of several platforms one name. A node pulls that of its own platform. */
    tagPlatforms: (references: readonly string[], tagged: string) =>
      crane("index", "append", ...references.flatMap((each) => ["--manifest", each]), "--tag", tagged),
    /** Returns the digests of the images that have the name; `undefined`: the registry has nothing with this name. */
    platformsOf: (tagged: string) =>
      crane("manifest", tagged).then((text) => {
        const { manifests = [] } = JSON.parse(text) as { readonly manifests?: readonly { readonly digest: string }[] };
        return manifests.map(({ digest }) => digest).join() || "an image of one platform";
      }, undefinedIfFailed),
    /** Returns the digest of a name; `undefined`: the registry has nothing with this name, or does not say. */
    digestOf: (reference: string) => crane("digest", reference).then((text) => text.trim(), undefinedIfFailed),
    /** Compares each part of an image with its digest, without unpacking it. @throws CommandError when one differs */
    validate: (reference: string) => inFolder((layout) => crane("pull", "--format=oci", reference, layout)),
    /** Pushes a chart. @param repository without the chart's name, which Helm adds */
    pushChart: (file: string, repository: string) => helm("push", file, `oci://${repository}`),
    /** Returns the SHA-256 of a chart package as Helm pulls it; `undefined`: there is none. */
    chartSum: (reference: string, version: string) =>
      inFolder(async (folder) => {
        await helm("pull", `oci://${reference}`, "--version", version, "--destination", folder);
        return await sha256Of(path.join(folder, `${path.basename(reference)}-${version}.tgz`));
      }).catch(undefinedIfFailed),
  };
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), "endpoint-operator-registry-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
