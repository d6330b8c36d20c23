/** Makes the SBOM of the image. */
import type { Bases } from "./bases.ts";

interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** The licence as an SPDX expression, or in the words of the package. */
  readonly licence: string;
}

/** Returns a CycloneDX document: the bundled npm packages, the Node binary and the Debian packages. */
export function imageSbom(
  { name, version, digest }: { readonly name: string; readonly version: string; readonly digest: string },
  bundled: readonly BundledPackage[],
  { debian, epochSeconds }: Pick<Bases, "debian" | "epochSeconds">,
): object {
  const purl = `pkg:oci/${name}@${encodeURIComponent(digest)}?tag=${version}`;
  const node = process.versions.node;
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(epochSeconds * 1_000).toISOString(),
      component: {
        ...component("container", { name, version }, purl),
        hashes: [{ alg: "SHA-256", content: digest.replace("sha256:", "") }],
        licenses: [{ license: { id: "Apache-2.0" } }],
      },
    },
    components: [
      ...bundled.map((each) => ({
        ...component("library", each, `pkg:npm/${each.name.replace("@", "%40")}@${each.version}`),
        licenses: [licenceOf(each.licence)],
      })),
      component("application", { name: "node", version: node }, `pkg:generic/node@${node}`),
      ...debian.map((each) => {
        const [deb, of] = [each.name, each.version].map(encodeURIComponent);
        return component("library", each, `pkg:deb/debian/${deb}@${of}?arch=${each.architecture}`);
      }),
    ],
  };
}

function component(
  type: string,
  { name, version }: { readonly name: string; readonly version: string },
  purl: string,
): object {
  return { type, "bom-ref": purl, name, version, purl };
}

/** Returns an SPDX expression if the text is one, else the name that the package states. */
function licenceOf(licence: string): object {
  if (/ (OR|AND|WITH) /.test(licence)) return { expression: licence };
  return /^[A-Za-z0-9.+-]+$/.test(licence) ? { license: { id: licence } } : { license: { name: licence } };
}
