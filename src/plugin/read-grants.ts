import type { NamespaceGrants } from "../domain/resource-store.ts";
import { fullGrant, type GrantOf, type ProjectGrant } from "../engine/grant.ts";
import { type GrantMode, planeGrantOf } from "../planes/grants.ts";
import { idOfPlane, settingsPlane } from "../resource/control-plane-resource.ts";
import type { ReadPlane } from "./named-plane.ts";

export type NamespaceFacts = Pick<NamespaceGrants, "annotation" | "labels">;

export interface NamespaceReads {
  /** Returns every Namespace, by name; `undefined`: the user may not list Namespaces. */
  listNamespaces(): Promise<ReadonlyMap<string, NamespaceFacts> | undefined>;
  /** Returns one Namespace; `undefined`: it does not exist, cannot be parsed, or the user may not read it. */
  getNamespace(namespace: string): Promise<NamespaceFacts | undefined>;
}

export interface GrantSettings {
  readonly projectGrants: GrantMode;
  /** The namespaces that the operator watches. Empty: all of them. */
  readonly watchNamespaces: readonly string[];
}

/** Returns the grant of a namespace for a project; `undefined`: the user may read too little to know the grant. */
export type KnownGrants = (...parameters: Parameters<GrantOf>) => ProjectGrant | undefined;

/** `plane`: `undefined` for that of the settings. @throws KubernetesError for another reason than missing rights */
export async function readGrants(
  namespaces: readonly string[],
  reads: NamespaceReads,
  settings: GrantSettings,
  plane?: ReadPlane,
): Promise<KnownGrants> {
  if (plane?.named.ref.kind === "ControlPlane") {
    return () => fullGrant;
  }
  if (plane?.snapshot.kind === "Forbidden") {
    return () => undefined;
  }
  const known = await readNamespaces(namespaces, reads, settings);
  return rulesOf(plane) === undefined ? annotationGrants(known, settings) : ruleGrants(known, settings, plane);
}

interface KnownNamespaces {
  readonly facts: ReadonlyMap<string, NamespaceFacts | undefined>;
  /** Whether `facts` has every Namespace that the operator watches. */
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

function annotationGrants({ facts, isComplete }: KnownNamespaces, { projectGrants: mode }: GrantSettings): KnownGrants {
  const isAnyAnnotated = [...facts.values()].some((each) => each?.annotation !== undefined);
  // With `WhenUsed`, a namespace without the annotation may use a project only if no Namespace has the annotation. A
  // Namespace that the user cannot read may have it.
  const isOpen = mode === "WhenUsed" && !isAnyAnnotated && !isComplete;
  return (namespace, projectId) => {
    const found = facts.get(namespace);
    if (found === undefined || (found.annotation === undefined && isOpen)) return undefined;
    const question = { namespace, projectId, facts: { ...found, isAnyAnnotated } };
    return planeGrantOf({ id: settingsPlane }, question, mode);
  };
}

function ruleGrants(
  { facts }: KnownNamespaces,
  { projectGrants: mode }: GrantSettings,
  plane?: ReadPlane,
): KnownGrants {
  if (plane?.snapshot.kind !== "Found") return () => undefined;
  const projects = rulesOf(plane);
  const granting = { id: idOfPlane(plane.snapshot.plane), projects };
  const isBySelector = projects?.some(({ namespaces }) => namespaces.selector !== undefined) ?? false;
  return (namespace, projectId) => {
    const found = facts.get(namespace);
    const read = { annotation: undefined, labels: undefined, isAnyAnnotated: false, ...found };
    const grant = planeGrantOf(granting, { namespace, projectId, facts: read }, mode);
    // A selector may select a Namespace whose labels the user cannot read, so the refusal is not certain.
    return !grant.mayChange && found === undefined && isBySelector ? undefined : grant;
  };
}

function rulesOf(plane: ReadPlane | undefined) {
  const spec = plane?.snapshot.kind === "Found" ? plane.snapshot.plane.spec : undefined;
  return spec?.kind === "Valid" ? spec.spec.projects : undefined;
}
