/** Keeps parts of the image between test runs. */
import path from "node:path";
import { cacheDirectory } from "../../tools/assets/asset-cache.ts";

/** Returns a folder of this project under the user's cache directory. */
export function cacheFolder(name: string): string {
  return path.join(path.dirname(cacheDirectory()), name);
}

/** The cache that all builds of the image share. A build without it takes two minutes. */
export const imageCache: string = cacheFolder("image-bases");

/**
 * The time of the files in test images, in seconds since 1970. It is the same for each commit, so that all commits can
 * use the cache.
 */
export const imageEpochSeconds = 1_700_000_000;
