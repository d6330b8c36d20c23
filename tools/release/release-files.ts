/** The files of a release. */
import path from "node:path";
import { chartFolders } from "../charts/chart-files.ts";
import { readOciImage } from "../image/oci-layout.ts";

/** The name of the image. */
export const imageName = "endpoint-operator";

/** The paths of a release's files. */
export interface ReleaseFiles {
  readonly outDir: string;
  readonly version: string;
  /** The folder with the OCI layout of the image. */
  readonly layout: string;
  readonly archive: string;
  readonly sbom: string;
  /** Archive and SBOM of the image for arm64. */
  readonly arm64: readonly [archive: string, sbom: string];
  readonly charts: readonly string[];
  /** CRDs and operator as one manifest. */
  readonly install: string;
  readonly checksums: string;
  /** The content of the statements of provenance. */
  readonly predicate: string;
}

/** Returns the paths of the files of this version in a folder. Pure. */
export function releaseFiles(outDir: string, version: string): ReleaseFiles {
  const at = (name: string) => path.join(outDir, name);
  return {
    ...{ outDir, version },
    layout: at(`${imageName}-${version}.oci`),
    archive: at(`${imageName}-${version}.oci.tar`),
    sbom: at(`${imageName}-${version}.cdx.json`),
    arm64: [at(`${imageName}-${version}-arm64.oci.tar`), at(`${imageName}-${version}-arm64.cdx.json`)],
    charts: chartFolders.map((folder) => at(`${path.basename(folder)}-${version}.tgz`)),
    install: at("install.yaml"),
    checksums: at("SHA256SUMS"),
    predicate: at("provenance.json"),
  };
}

/** Returns every file that is signed. Pure. */
export function signedFiles(files: ReleaseFiles): readonly string[] {
  return [...listedFiles(files), files.checksums];
}

/** Returns every file that SHA256SUMS lists. Pure. */
export function listedFiles({ archive, sbom, arm64, charts, install }: ReleaseFiles): readonly string[] {
  return [archive, sbom, ...arm64, ...charts, install];
}

/** Returns the digest of the image in the layout, with `sha256:`. @throws Error when there is no image */
export async function imageDigest({ layout }: ReleaseFiles): Promise<string> {
  return (await readOciImage(layout)).digest;
}
