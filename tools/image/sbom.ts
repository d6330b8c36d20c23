import type { DebianPackage } from "./base-images.ts";

/** A package whose code is in the bundle, as `packages.json` beside the bundle lists it. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression, or what the package states. */
  readonly licence: string;
}

/** What an image holds. */
export interface ImageContents {
  readonly name: string;
  readonly version: string;
  /** Digest of the manifest, with `sha256:`. */
  readonly digest: string;
  readonly bundled: readonly BundledPackage[];
  readonly debian: readonly DebianPackage[];
  /** Without a leading v. */
  readonly nodeVersion: string;
  readonly epochSeconds: number;
}

/** A CycloneDX document of an image: the bundled npm packages, the Node binary and the Debian packages. Pure. */
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

/** An expression where it is one; else the name that the package states. */
function licenceOf(licence: string): object {
  if (/ (OR|AND|WITH) /.test(licence)) return { expression: licence };
  return /^[A-Za-z0-9.+-]+$/.test(licence) ? { license: { id: licence } } : { license: { name: licence } };
}
