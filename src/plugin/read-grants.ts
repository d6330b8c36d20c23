/** Reads grants with the user's rights, for `kubectl endpoints`. */
import { type GrantMode, type GrantOf, type ProjectGrant, projectGrantOf } from "../decide/project-grant.ts";

/** Reads the grants of Namespaces with the rights of the user. */
export interface NamespaceReads {
  /** The annotation of each Namespace that carries it. `undefined`: the user may not list Namespaces. */
  listGrants(): Promise<ReadonlyMap<string, string> | undefined>;
  /** The annotation of one Namespace. `undefined`: the user may not read it. */
  getGrant(namespace: string): Promise<{ readonly annotation: string | undefined } | undefined>;
}

/** The operator's settings about grants. */
export interface GrantSettings {
  readonly projectGrants: GrantMode;
  /** The namespaces that the operator watches. Empty: all of them. */
  readonly watchNamespaces: readonly string[];
}

/** The grants as far as they are known. `undefined`: too little of the namespace can be read. */
export type KnownGrants = (...parameters: Parameters<GrantOf>) => ProjectGrant | undefined;

/**
 * Reads the grants as the operator sees them, as far as the user's rights allow.
 * @param namespaces the namespaces whose grants are needed
 * @throws KubernetesError when the API server cannot be read for another reason than missing rights
 */
export async function readGrants(
  namespaces: readonly string[],
  reads: NamespaceReads,
  { projectGrants: mode, watchNamespaces: watched }: GrantSettings,
): Promise<KnownGrants> {
  const all = watched.length === 0 ? await reads.listGrants() : undefined;
  if (all !== undefined) {
    const isAnyAnnotated = all.size > 0;
    return (namespace, projectId) =>
      projectGrantOf(projectId, { annotation: all.get(namespace), isAnyAnnotated }, mode);
  }
  const names = [...new Set([...namespaces, ...watched])];
  const known = new Map(await Promise.all(names.map(async (name) => [name, await reads.getGrant(name)] as const)));
  const isAnyAnnotated = [...known.values()].some((grant) => grant?.annotation !== undefined);
  // In this mode, a namespace without the annotation depends on all other Namespaces. A Namespace that cannot be read
  // may have the annotation.
  const isComplete = watched.length > 0 && watched.every((name) => known.get(name) !== undefined);
  const isOpen = mode === "WhenUsed" && !isAnyAnnotated && !isComplete;
  return (namespace, projectId) => {
    const grant = known.get(namespace);
    if (grant === undefined || (grant.annotation === undefined && isOpen)) return undefined;
    return projectGrantOf(projectId, { annotation: grant.annotation, isAnyAnnotated }, mode);
  };
}
