/** Makes the SBOM of the image. */
import type { DebianPackage } from "./base-images.ts";

/** A bundled package, as `packages.json` beside the bundle lists it. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** The licence as an SPDX expression, or in the words of the package. */
  readonly licence: string;
}

/** The content of an image. */
export interface ImageContents {
  readonly name: string;
  readonly version: string;
  /** The digest of the manifest, with `sha256:`. */
  readonly digest: string;
  readonly bundled: readonly BundledPackage[];
  readonly debian: readonly DebianPackage[];
  /** The version without a leading v. */
  readonly nodeVersion: string;
  readonly epochSeconds: number;
}

/**
 * Returns a CycloneDX document of an image: the bundled npm packages, the Node binary and the Debian packages. Pure.
 */
export function imageSbom(contents: ImageContents): object {
  const { name, version, digest, epochSeconds, nodeVersion } = contents;
  const purl = `pkg:oci/${name}@${encodeURIComponent(digest)}?tag=${version}`;
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(epochSeconds * 1_000).toISOString(),
      component: {
        ...{ "bom-ref": purl, type: "container", name, version, purl },
        hashes: [{ alg: "SHA-256", content: digest.replace("sha256:", "") }],
        licenses: [{ license: { id: "Apache-2.0" } }],
      },
    },
    components: [
      ...contents.bundled.map(npmComponent),
      component("application", "node", nodeVersion, `pkg:generic/node@${nodeVersion}`),
      ...contents.debian.map(debianComponent),
    ],
  };
}

function npmComponent({ name, version, licence }: BundledPackage): object {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return { ...component("library", name, version, purl), licenses: [licenceOf(licence)] };
}

function debianComponent({ name, version, architecture }: DebianPackage): object {
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`;
  return component("library", name, version, purl);
}

function component(type: string, name: string, version: string, purl: string): object {
  return { type, "bom-ref": purl, name, version, purl };
}

/** Returns an SPDX expression if the text is one, else the name that the package states. */
function licenceOf(licence: string): object {
  if (/ (OR|AND|WITH) /.test(licence)) return { expression: licence };
  return /^[A-Za-z0-9.+-]+$/.test(licence) ? { license: { id: licence } } : { license: { name: licence } };
}
