/** The kinds that a command reads, and their names, as `kubectl get` takes and prints them. */
import { parseNamespace } from "../kubernetes/namespace-grants.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../resource/compute-endpoint.ts";
import { parseClusterControlPlane, parseControlPlane } from "../resource/control-plane-resource.ts";
import { parseDatabaseAccess } from "../resource/database-access.ts";
import { parseDatabaseBranch } from "../resource/database-branch.ts";
import * as names from "../resource/names.ts";
import type { Explained } from "./why.ts";

export interface ReadKind<Resource> {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly parse: (stored: unknown) => Resource;
}

const { kind, plural, shortName } = names;

export const endpointKind: ReadKind<ComputeEndpoint> = { kind, plural, shortName, parse: parseComputeEndpoint };

export const planeKinds = {
  ControlPlane: { ...names.controlPlaneNames, parse: parseControlPlane },
  ClusterControlPlane: { ...names.clusterControlPlaneNames, parse: parseClusterControlPlane },
};

const accessKind = { ...names.databaseAccessNames, parse: parseDatabaseAccess };

const branchKind = { ...names.databaseBranchNames, parse: parseDatabaseBranch };

export const explainedKinds: readonly ReadKind<Explained>[] = [
  endpointKind,
  accessKind,
  branchKind,
  ...Object.values(planeKinds),
];

export const namespaceKind = { kind: "Namespace", plural: "namespaces", shortName: "ns", parse: parseNamespace };

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
  const isOfCluster = kind.kind === names.clusterControlPlaneNames.kind;
  return { kind, key: { namespace: isOfCluster ? "" : namespace, name } };
}
