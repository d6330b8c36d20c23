/** Builds binaries from their Go modules. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { AssetError, describeError } from "./asset-error.ts";
import { type Asset, requiredGoVersion } from "./asset-table.ts";
import type { Platform } from "./platform.ts";
import { runCommand } from "./run-command.ts";

/** Where to build, and for which platform. */
export interface GoBuildOptions {
  /** An empty directory on the file system of the cache. The compiler's temporary files are in it too. */
  readonly directory: string;
  readonly platform: Platform;
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Checks whether the installed Go can build the binaries.
 * @throws AssetError `GoMissing`, or `GoTooOld` when it is older than `requiredGoVersion` and may not download a
 *   newer one.
 */
export async function checkGo(env: NodeJS.ProcessEnv): Promise<void> {
  let output: string;
  try {
    // It runs outside any module, so that a go.mod in a parent directory cannot choose another toolchain.
    output = await runCommand({ command: "go", args: ["env", "GOVERSION", "GOTOOLCHAIN"], cwd: "/", env });
  } catch (error) {
    throw new AssetError("GoMissing", `No working Go on the path (${describeError(error)}).`, { cause: error });
  }
  const [version = "", toolchain = ""] = output.trim().split("\n");
  if (isGoUsable(version, toolchain)) return;
  throw new AssetError(
    "GoTooOld",
    `The Go on the path is ${version || "of unknown version"}; ${requiredGoVersion} or later is needed.`,
  );
}

/**
 * Whether this Go builds the binaries, by itself or with the newer toolchain that go.mod asks for.
 * @param version as `go env GOVERSION` prints it, like `go1.26.1`.
 * @param toolchain as `go env GOTOOLCHAIN` prints it. With `auto`, Go from 1.21 on downloads a newer toolchain if it
 *   needs one.
 */
export function isGoUsable(version: string, toolchain: string): boolean {
  const [major, minor, patch] = numbersOf(version.replace(/^go/, ""));
  const [wantMajor, wantMinor, wantPatch] = numbersOf(requiredGoVersion);
  if (major !== wantMajor) return major > wantMajor;
  if (minor !== wantMinor) return minor > wantMinor || (minor >= 21 && toolchain.endsWith("auto"));
  return patch >= wantPatch || toolchain.endsWith("auto");
}

function numbersOf(version: string): readonly [number, number, number] {
  const match = /^(\d+)\.(\d+)(?:\.(\d+))?/.exec(version);
  return match === null ? [0, 0, 0] : [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)];
}

/**
 * Builds a binary from its pinned Go modules.
 * @returns the path of the finished file, in `directory`.
 * @throws AssetError `BuildFailed` with the compiler's last lines, `Interrupted`.
 */
export async function buildFromGoModules(asset: Asset, options: GoBuildOptions): Promise<string> {
  const { directory, platform, env, signal } = options;
  const output = path.join(directory, asset.name);
  const temporary = path.join(directory, "go-tmp");
  await mkdir(temporary, { recursive: true });
  const { build } = asset;
  const flags = ["-mod=readonly", "-buildvcs=false", "-trimpath", `-ldflags=${build.linkerFlags}`];
  if (build.tags !== undefined) flags.push(`-tags=${build.tags}`);
  try {
    await runCommand({
      command: "go",
      args: ["build", ...flags, "-o", output, build.packagePath],
      cwd: build.moduleDirectory,
      env: { ...env, CGO_ENABLED: "0", GOWORK: "off", GOOS: platform.os, GOARCH: platform.arch, GOTMPDIR: temporary },
      signal,
    });
  } catch (error) {
    if (signal?.aborted)
      throw new AssetError("Interrupted", `Interrupted while building ${asset.name}.`, { cause: error });
    const words = error instanceof Error ? error.message : String(error);
    throw new AssetError("BuildFailed", `Building ${asset.name} ${asset.version} failed: ${words}`, { cause: error });
  }
  return output;
}
