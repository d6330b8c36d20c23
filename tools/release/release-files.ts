/** The files of a release. */
import path from "node:path";
import { chartFolders } from "../charts/chart-files.ts";

/** The name of the image. */
export const imageName = "endpoint-operator";

/** The paths of a release's files. */
export type ReleaseFiles = ReturnType<typeof releaseFiles>;

/** Returns the paths of the files of this version in a folder. */
export function releaseFiles(outDir: string, version: string) {
  const at = (name: string) => path.join(outDir, name);
  const image = `${imageName}-${version}`;
  return {
    ...{ outDir, version },
    /** The OCI layout of the image in one file. */
    archive: at(`${image}.oci.tar`),
    sbom: at(`${image}.cdx.json`),
    /** Archive and SBOM of the image for arm64. */
    arm64: [at(`${image}-arm64.oci.tar`), at(`${image}-arm64.cdx.json`)],
    charts: chartFolders.map((folder) => at(`${path.basename(folder)}-${version}.tgz`)),
    /** CRDs and operator as one manifest. */
    install: at("install.yaml"),
    /** The kubectl plugin, and its manifest for Krew. */
    plugin: [at(`kubectl-endpoints-${version}.tgz`), at("compute-endpoints.yaml")],
    checksums: at("SHA256SUMS"),
    /** The content of the statements of provenance. */
    predicate: at("provenance.json"),
  } as const;
}

/** Returns every file that is signed. */
export function signedFiles(files: ReleaseFiles): readonly string[] {
  return [...listedFiles(files), files.checksums];
}

/** Returns every file that SHA256SUMS lists. */
export function listedFiles({ archive, sbom, arm64, charts, install, plugin }: ReleaseFiles): readonly string[] {
  return [archive, sbom, ...arm64, ...charts, install, ...plugin];
}
