/** What a namespace may do in a project, and why a control plane cannot be used at all. */

import type { NamespaceGrants } from "../domain/namespace-grants.ts";
import type { PlaneStallReason } from "../resource/conditions.ts";
import { grantAnnotation } from "../resource/names.ts";

/**
 * What a namespace without the annotation may do.
 * `Required`: nothing. `Open`: everything except adopt. `WhenUsed`: everything while no namespace has the annotation;
 * as soon as one has it, nothing.
 */
export type GrantMode = "Required" | "Open" | "WhenUsed";

/** What the resources of one namespace may do in one project. */
export interface ProjectGrant {
  readonly mayChange: boolean;
  /**
   * Whether the namespace may adopt. Adoption can end in the deletion of an endpoint that another client created, so
   * `Open` does not allow it.
   */
  readonly mayAdopt: boolean;
}

/** Returns what a namespace may do in a project, by the grants as they are now. */
export type GrantOf = (namespace: string, projectId: string) => ProjectGrant;

/** The grant that allows everything. */
export const fullGrant: ProjectGrant = { mayChange: true, mayAdopt: true };

const openGrant: ProjectGrant = { mayChange: true, mayAdopt: false };

/** The grant that allows nothing. */
export const noGrant: ProjectGrant = { mayChange: false, mayAdopt: false };

/**
 * Returns what a namespace may do in a project. Pure and total.
 * If the namespace has the annotation, only the annotation counts, in every mode. It holds project ids separated by
 * commas, or `*` for all projects.
 */
export function projectGrantOf(
  projectId: string,
  { annotation, isAnyAnnotated }: Pick<NamespaceGrants, "annotation" | "isAnyAnnotated">,
  mode: GrantMode,
): ProjectGrant {
  if (annotation !== undefined) {
    const granted = annotation.split(",").map((entry) => entry.trim());
    return granted.includes("*") || (projectId !== "" && granted.includes(projectId)) ? fullGrant : noGrant;
  }
  switch (mode) {
    case "Required":
      return noGrant;
    case "Open":
      return openGrant;
    case "WhenUsed":
      return isAnyAnnotated ? noGrant : fullGrant;
  }
}

/**
 * Returns the message for the reason ProjectNotGranted. It names the annotation and the project of spec, and nothing
 * about the project's contents.
 */
export function notGrantedMessage(
  namespace: string,
  projectId: string,
  what: "change" | "adopt" | "deleteAdopted",
): string {
  const ask = `Ask an administrator of the cluster to add ${projectId} to the annotation ${grantAnnotation} of Namespace ${namespace}`;
  switch (what) {
    case "change":
      return `Namespace ${namespace} has no grant for project ${projectId}, so the operator creates and changes nothing there. ${ask}.`;
    case "adopt":
      return `Namespace ${namespace} has no grant for project ${projectId}, and an adoption needs one. ${ask}, or remove spec.adoption.`;
    case "deleteAdopted":
      return `This deletion concerns something that the operator may not have created. Namespace ${namespace} has no grant for project ${projectId}, so the operator does not delete it. ${ask}, or set the deletionPolicy to Retain.`;
  }
}

/**
 * The problem of the control plane that a resource names. While there is one, the operator creates, changes and deletes
 * nothing.
 */
export interface PlaneProblem {
  readonly reason: PlaneStallReason;
  /** What happened and what to do. It contains nothing that the namespaces which use the control plane may not see. */
  readonly message: string;
}
