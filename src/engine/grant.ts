/** What a namespace may do in a project, and why a control plane cannot be used, as decisions see it. */
import type { BranchPlace } from "../resource/branch-place.ts";
import { branchesOfAnnotation, grantAnnotation } from "../resource/names.ts";

export interface ProjectGrant {
  readonly mayChange: boolean;
  /**
   * Whether the namespace may adopt. Adoption can end in the deletion of an endpoint that another client created, so
   * `Open` does not allow it.
   */
  readonly mayAdopt: boolean;
  /** Names or ids of the parents whose branches the namespace may make and use, if it may not change the project. @default none */
  readonly branchesOf?: readonly string[];
}

export type GrantOf = (namespace: string, projectId: string) => ProjectGrant;

export const fullGrant: ProjectGrant = { mayChange: true, mayAdopt: true };

export const noGrant: ProjectGrant = { mayChange: false, mayAdopt: false };

/** Whether the namespace may use the branches of a parent. @param parent its name or id, as spec names it */
export function mayBranchFrom({ mayChange, branchesOf = [] }: ProjectGrant, parent: string): boolean {
  return mayChange || branchesOf.includes(parent);
}

/** Whether the namespace may have endpoints and accesses there. On a branch that is not proven, nothing is sent yet. */
export function mayUse(grant: ProjectGrant, place: BranchPlace): boolean {
  const { mayChange, branchesOf = [] } = grant;
  const isExpected = place.kind === "Unproven" && branchesOf.length > 0;
  return place.kind === "Proven" ? mayBranchFrom(grant, place.parent) : mayChange || isExpected;
}

/**
 * The problem of the control plane that a resource names. While there is one, the operator creates, changes and deletes
 * nothing.
 */
export interface PlaneProblem {
  readonly reason: "ControlPlaneNotFound" | "ControlPlaneNotReady";
  /** What happened and what to do. It contains nothing that the namespaces which use the control plane may not see. */
  readonly message: string;
}

/** The message for the reason ProjectNotGranted: it says nothing about the project's contents. */
export function notGrantedMessage(
  namespace: string,
  /** What the smallest grant that is enough allows: the branches of the parent, or without one the project. */
  { projectId, parent }: { readonly projectId: string; readonly parent?: string },
  what: MissingRight,
): string {
  const [why, orElse = ""] = notGranted[what];
  const [annotation, entry] = parent ? [branchesOfAnnotation, `${projectId}/${parent}`] : [grantAnnotation, projectId];
  const ask = `Ask an administrator of the cluster to add ${entry} to the annotation ${annotation} of Namespace ${namespace}, or ${projectId} to spec.projects of the ClusterControlPlane if it has that list`;
  return `Namespace ${namespace} has no grant for project ${projectId}, ${why}. ${ask}${orElse}.`;
}

export type MissingRight = keyof typeof notGranted;
const notGranted = {
  change: ["so the operator creates and changes nothing there"],
  adopt: ["and an adoption needs one", ", or remove spec.adoption"],
  observe: ["and observing an endpoint needs one"],
  deleteAdopted: ["so the operator deletes nothing that others may have made", ", or set the deletionPolicy to Retain"],
} as const;
