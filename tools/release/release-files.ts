import path from "node:path";
import { chartFolders } from "../charts/chart-files.ts";
import { readOciImage } from "../image/oci-layout.ts";

/** Name of the image. */
export const imageName = "endpoint-operator";

/** Where the files of a release stand. */
export interface ReleaseFiles {
  readonly outDir: string;
  readonly version: string;
  /** OCI layout of the image: a folder. */
  readonly layout: string;
  readonly archive: string;
  readonly sbom: string;
  readonly charts: readonly string[];
  readonly checksums: string;
  /** The content of the statements of provenance. */
  readonly predicate: string;
}

/** Where the files of a release of this version stand in a folder. Pure. */
export function releaseFiles(outDir: string, version: string): ReleaseFiles {
  const at = (name: string) => path.join(outDir, name);
  return {
    ...{ outDir, version },
    layout: at(`${imageName}-${version}.oci`),
    archive: at(`${imageName}-${version}.oci.tar`),
    sbom: at(`${imageName}-${version}.cdx.json`),
    charts: chartFolders.map((folder) => at(`${path.basename(folder)}-${version}.tgz`)),
    checksums: at("SHA256SUMS"),
    predicate: at("provenance.json"),
  };
}

/** Every file that is signed. Pure. */
export function signedFiles({ archive, sbom, charts, checksums }: ReleaseFiles): readonly string[] {
  return [archive, sbom, ...charts, checksums];
}

/** Digest of the image in the layout, with `sha256:`. @throws Error when there is no image */
export async function imageDigest({ layout }: ReleaseFiles): Promise<string> {
  return (await readOciImage(layout)).digest;
}
