import { AssetError } from "./asset-error.ts";

/** Operating system and processor in Go's words, which are those of the download hosts too. */
export interface Platform {
  readonly os: "linux" | "darwin";
  readonly arch: "amd64" | "arm64";
}

/**
 * The platform this process runs on.
 *
 * @throws AssetError `BadSetting` where the binaries neither exist nor build (Windows: use WSL).
 */
export function currentPlatform(os: string = process.platform, arch: string = process.arch): Platform {
  const goArch = { x64: "amd64", arm64: "arm64" }[arch];
  if ((os === "linux" || os === "darwin") && (goArch === "amd64" || goArch === "arm64")) return { os, arch: goArch };
  throw new AssetError(
    "BadSetting",
    `kube-apiserver and etcd are not made for ${os} on ${arch}. Linux and macOS on x64 and arm64 work; on Windows use WSL.`,
  );
}
