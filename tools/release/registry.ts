/** Pushes to a registry and reads from it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { ProgressSink } from "../assets/progress.ts";
import { resolveAssets } from "../assets/resolve-assets.ts";
import { runCommand, undefinedIfFailed } from "../assets/run-command.ts";
import { sha256Of } from "../image/oci-layout.ts";
import { isLoopbackRegistry } from "../image/registry-scheme.ts";

/**
 * A registry, with the logins of the user's Docker configuration. Each call throws CommandError when the registry
 * refuses it.
 */
export interface Registry {
  /** Pushes the image of an OCI layout byte by byte. @param reference has a digest, so the image gets no tag */
  pushLayout(layout: string, reference: string): Promise<void>;
  tag(reference: string, tag: string): Promise<void>;
  /** Returns the digest of a name; `undefined`: the registry has nothing with this name, or does not say. */
  digestOf(reference: string): Promise<string | undefined>;
  /** Reads every layer of an image and compares it with its digest. @throws CommandError when they differ */
  validate(reference: string): Promise<undefined>;
  /** Pushes a chart. @param repository `oci://…` without the chart's name, which Helm adds */
  pushChart(file: string, repository: string): Promise<void>;
  /** Returns the SHA-256 of a chart package as Helm pulls it; `undefined`: there is none. */
  chartSum(reference: string, version: string): Promise<string | undefined>;
}

/** Opens the registry of an address. @throws AssetError when crane or helm is not available */
export async function openRegistry(address: string, progress: ProgressSink, signal?: AbortSignal): Promise<Registry> {
  const tools = await resolveAssets(["crane", "helm"], { progress, signal });
  const crane = (...args: readonly string[]) => runCommand({ command: tools.crane, args, signal });
  const plain = isLoopbackRegistry(address) ? ["--plain-http"] : [];
  const helm = (...args: readonly string[]) => runCommand({ command: tools.helm, args: [...args, ...plain], signal });
  return {
    pushLayout: async (layout, reference) => void (await crane("push", layout, reference)),
    tag: async (reference, tag) => void (await crane("tag", reference, tag)),
    digestOf: (reference) => crane("digest", reference).then((text) => text.trim(), undefinedIfFailed),
    validate: async (reference) => {
      await crane("validate", "--remote", reference);
      return undefined;
    },
    pushChart: async (file, repository) => void (await helm("push", file, `oci://${repository}`)),
    chartSum: async (reference, version) => {
      const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-chart-"));
      try {
        await helm("pull", `oci://${reference}`, "--version", version, "--destination", directory);
        return await sha256Of(path.join(directory, `${path.basename(reference)}-${version}.tgz`));
      } catch (error) {
        return undefinedIfFailed(error);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
  };
}
