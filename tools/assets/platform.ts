/** Names the platform of this process. */
import { AssetError } from "./asset-error.ts";

/** Operating system and processor, with the names that Go and the download hosts use. */
export interface Platform {
  readonly os: "linux" | "darwin";
  readonly arch: "amd64" | "arm64";
}

/**
 * Returns the platform of this process.
 * @throws AssetError `BadSetting` on a platform for which the binaries cannot be downloaded or built (Windows: use
 *   WSL).
 */
export function currentPlatform(os: string = process.platform, arch: string = process.arch): Platform {
  const goArch = { x64: "amd64", arm64: "arm64" }[arch];
  if ((os === "linux" || os === "darwin") && (goArch === "amd64" || goArch === "arm64")) return { os, arch: goArch };
  throw new AssetError(
    "BadSetting",
    `kube-apiserver and etcd are not made for ${os} on ${arch}. Linux and macOS on x64 and arm64 work; on Windows use WSL.`,
  );
}
