/** The kinds that a command reads, and their names, as `kubectl get` takes and prints them. */
import {
  computeEndpointKind,
  databaseAccessKind,
  databaseBranchKind,
  planeKinds,
} from "../kubernetes/store/resource-kinds.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { DatabaseBranch } from "../resource/database-branch.ts";
import { clusterControlPlaneNames } from "../resource/names.ts";
import type { Explained } from "./why.ts";

export interface ReadKind<Resource> {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly parse: (stored: unknown) => Resource;
}

/** The kinds with operations, whose next step can be planned. */
export const plannedKinds: readonly ReadKind<ComputeEndpoint | DatabaseBranch>[] = [
  computeEndpointKind,
  databaseBranchKind,
];
export const explainedKinds: readonly ReadKind<Explained>[] = [
  ...[computeEndpointKind, databaseAccessKind, databaseBranchKind],
  ...Object.values(planeKinds),
];

/** Parses `NAME` or `KIND/NAME`. @param kinds a name alone is of the first kind. @throws Error for another kind */
export function parseName<Resource>(text: string, namespace: string, kinds: readonly ReadKind<Resource>[]) {
  const [, word, name = ""] = /^(?:([a-z]+)(?:\.[^/]*)?\/)?([^/]+)$/i.exec(text) ?? [];
  const isMeant = (each: ReadKind<Resource>) =>
    word === undefined || [each.plural, each.kind.toLowerCase(), each.shortName].includes(word.toLowerCase());
  const kind = kinds.find(isMeant);
  if (name === "" || kind === undefined) {
    const forms = kinds.map((each) => `${each.shortName}/NAME`).join(", ");
    throw new Error(`${text} is no name that this command knows: write NAME, ${forms}.`);
  }
  const isOfCluster = kind.kind === clusterControlPlaneNames.kind;
  return { kind, key: { namespace: isOfCluster ? "" : namespace, name } };
}
