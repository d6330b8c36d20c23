/** Builds binaries from their Go modules. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Asset, Platform } from "./asset-table.ts";
import { runCommand } from "./run-command.ts";

/** Where to build, and for which platform. */
export interface GoBuildOptions {
  /** An empty directory on the file system of the cache. The compiler's temporary files are in it too. */
  readonly directory: string;
  readonly platform: Platform;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Builds a binary from its pinned Go modules. A Go that is too old says so, or downloads a newer one.
 * @returns the path of the finished file, in `directory`.
 * @throws Error when there is no Go; CommandError with the compiler's last lines.
 */
export async function buildFromGoModules(asset: Asset, options: GoBuildOptions): Promise<string> {
  const { directory, platform, signal } = options;
  const { module, variables = {}, tags = "", packagePath } = asset.build;
  const output = path.join(directory, asset.name);
  const temporary = path.join(directory, "go-tmp");
  await mkdir(temporary);
  const linker = ["-s -w", ...Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`)];
  const flags = ["-mod=readonly", "-buildvcs=false", "-trimpath", `-ldflags=${linker.join(" ")}`, `-tags=${tags}`];
  const own = { CGO_ENABLED: "0", GOWORK: "off", GOOS: platform.os, GOARCH: platform.arch, GOTMPDIR: temporary };
  await runCommand({
    command: "go",
    args: ["build", ...flags, "-o", output, packagePath],
    cwd: fileURLToPath(new URL(`./go/${module}/`, import.meta.url)),
    env: { ...process.env, ...own },
    signal,
  });
  return output;
}
