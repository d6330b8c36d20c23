/** The addresses of a release in a registry. */
import path from "node:path";
import type { Cosign, StatementType } from "./cosign.ts";
import type { Registry } from "./registry.ts";
import { imageName, type ReleaseFiles } from "./release-files.ts";

/** The registry of a release. */
export interface Place {
  /** The address, for instance `ghcr.io/owner`. */
  readonly address: string;
  readonly registry: Registry;
  readonly cosign: Cosign;
}

/** Returns the image's address, without a tag. Pure. */
export function imageAt({ address }: Place): string {
  return `${address}/${imageName}`;
}

/** Returns the address of a package's chart, without a tag. Pure. */
export function chartAt({ address }: Place, file: string, { version }: ReleaseFiles): string {
  return `${address}/charts/${path.basename(file, `-${version}.tgz`)}`;
}

/** Returns the signed statements that an image has in a registry. Pure. */
export function statementsAbout({ sbom, predicate }: ReleaseFiles) {
  return [
    { type: "cyclonedx", predicate: sbom },
    { type: "slsaprovenance1", predicate },
  ] as const satisfies readonly { readonly type: StatementType; readonly predicate: string }[];
}
