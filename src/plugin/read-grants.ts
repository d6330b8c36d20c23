/** Reads grants with the user's rights, for `kubectl endpoints`. */
import {
  fullGrant,
  type GrantMode,
  type GrantOf,
  type ProjectGrant,
  planeGrantOf,
  projectGrantOf,
} from "../decide/project-grant.ts";
import type { NamespaceGrants } from "../domain/resource-store.ts";
import type { ReadPlane } from "./named-plane.ts";

/** The parts of a Namespace that grants depend on. */
export type NamespaceFacts = Pick<NamespaceGrants, "annotation" | "labels">;

/** Reads Namespaces with the rights of the user. */
export interface NamespaceReads {
  /** Returns every Namespace by name. `undefined`: the user may not list Namespaces. */
  listNamespaces(): Promise<ReadonlyMap<string, NamespaceFacts> | undefined>;
  /** Returns one Namespace. `undefined`: there is none, it cannot be parsed, or the user may not read it. */
  getNamespace(namespace: string): Promise<NamespaceFacts | undefined>;
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
 * @param plane the control plane that the resource names; `undefined`: that of the settings
 * @throws KubernetesError when the API server cannot be read for another reason than missing rights
 */
export async function readGrants(
  namespaces: readonly string[],
  reads: NamespaceReads,
  settings: GrantSettings,
  plane?: ReadPlane,
): Promise<KnownGrants> {
  if (plane?.named.ref.kind === "ControlPlane") {
    return () => fullGrant;
  }
  if (plane?.reading.kind === "Forbidden") {
    return () => undefined;
  }
  const known = await readNamespaces(namespaces, reads, settings);
  return rulesOf(plane) === undefined ? annotationGrants(known, settings) : ruleGrants(known, settings, plane);
}

/** The Namespaces that could be read. */
interface KnownNamespaces {
  readonly facts: ReadonlyMap<string, NamespaceFacts | undefined>;
  /** Whether every Namespace is there that the operator sees. */
  readonly isComplete: boolean;
}

async function readNamespaces(
  namespaces: readonly string[],
  reads: NamespaceReads,
  { watchNamespaces: watched }: GrantSettings,
): Promise<KnownNamespaces> {
  const all = watched.length === 0 ? await reads.listNamespaces() : undefined;
  if (all !== undefined) {
    return { facts: all, isComplete: true };
  }
  const names = [...new Set([...namespaces, ...watched])];
  const facts = new Map(await Promise.all(names.map(async (name) => [name, await reads.getNamespace(name)] as const)));
  return { facts, isComplete: watched.length > 0 && watched.every((name) => facts.get(name) !== undefined) };
}

/** Returns the grants that the annotations of the Namespaces give. */
function annotationGrants({ facts, isComplete }: KnownNamespaces, { projectGrants: mode }: GrantSettings): KnownGrants {
  const isAnyAnnotated = [...facts.values()].some((each) => each?.annotation !== undefined);
  // In this mode, a namespace without the annotation depends on all other Namespaces. A Namespace that cannot be read
  // may have the annotation.
  const isOpen = mode === "WhenUsed" && !isAnyAnnotated && !isComplete;
  return (namespace, projectId) => {
    const found = facts.get(namespace);
    if (found === undefined || (found.annotation === undefined && isOpen)) return undefined;
    return projectGrantOf(projectId, { annotation: found.annotation, isAnyAnnotated }, mode);
  };
}

/** Returns the grants that `projects` of a ClusterControlPlane gives. */
function ruleGrants(
  { facts }: KnownNamespaces,
  { projectGrants: mode }: GrantSettings,
  plane?: ReadPlane,
): KnownGrants {
  if (plane?.reading.kind !== "Found") return () => undefined;
  const resource = plane.reading.plane;
  const isBySelector = rulesOf(plane)?.some(({ namespaces }) => namespaces.selector !== undefined) ?? false;
  return (namespace, projectId) => {
    const found = facts.get(namespace);
    const read = { annotation: undefined, labels: undefined, isAnyAnnotated: false, isTerminating: false, ...found };
    const grant = planeGrantOf(resource, { namespace, projectId, facts: read }, mode);
    // A selector may select a Namespace whose labels the user cannot read.
    return !grant.mayChange && found === undefined && isBySelector ? undefined : grant;
  };
}

function rulesOf(plane: ReadPlane | undefined) {
  const spec = plane?.reading.kind === "Found" ? plane.reading.plane.spec : undefined;
  return spec?.kind === "Valid" ? spec.spec.projects : undefined;
}
