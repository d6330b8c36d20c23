/** The files of a release. */
import path from "node:path";
import { chartFolders } from "../charts/chart-files.ts";

export const imageName = "endpoint-operator";

export type ReleaseFiles = ReturnType<typeof releaseFiles>;

export function releaseFiles(outDir: string, version: string) {
  const at = (name: string) => path.join(outDir, name);
  const image = `${imageName}-${version}`;
  return {
    outDir,
    version,
    archive: at(`${image}.oci.tar`),
    sbom: at(`${image}.cdx.json`),
    arm64: [at(`${image}-arm64.oci.tar`), at(`${image}-arm64.cdx.json`)],
    charts: chartFolders.map((folder) => at(`${path.basename(folder)}-${version}.tgz`)),
    install: at("install.yaml"),
    plugin: [at(`kubectl-endpoints-${version}.tgz`), at("compute-endpoints.yaml")],
    checksums: at("SHA256SUMS"),
    predicate: at("provenance.json"),
  } as const;
}

export function signedFiles(files: ReleaseFiles): readonly string[] {
  return [...listedFiles(files), files.checksums];
}

export function listedFiles({ archive, sbom, arm64, charts, install, plugin }: ReleaseFiles): readonly string[] {
  return [archive, sbom, ...arm64, ...charts, install, ...plugin];
}
