import type { NamespaceGrants } from "../domain/namespace-grants.ts";
import { grantAnnotation } from "../resource/names.ts";

/**
 * What a namespace without the annotation may do.
 *
 * `Required`: nothing. `Open`: everything but adopt. `WhenUsed`: everything, until any namespace carries the annotation;
 * from then on nothing.
 */
export type GrantMode = "Required" | "Open" | "WhenUsed";

/** What the resources of one namespace may do in one project. */
export interface ProjectGrant {
  readonly mayChange: boolean;
  /** Adoption can end in the deletion of what another client made, so `Open` does not allow it. */
  readonly mayAdopt: boolean;
}

/** What a namespace may do in a project, as the grants are now. */
export type GrantOf = (namespace: string, projectId: string) => ProjectGrant;

/** Nothing is held back. */
export const fullGrant: ProjectGrant = { mayChange: true, mayAdopt: true };

const noGrant: ProjectGrant = { mayChange: false, mayAdopt: false };

/**
 * What a namespace may do in a project. Pure and total.
 *
 * An annotation always decides alone, in every mode: project ids separated by commas, `*` for all.
 */
export function projectGrantOf(
  projectId: string,
  { annotation, isAnyAnnotated }: NamespaceGrants,
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
      return { mayChange: true, mayAdopt: false };
    case "WhenUsed":
      return isAnyAnnotated ? noGrant : fullGrant;
  }
}

/**
 * The message of ProjectNotGranted. It names the annotation and the project that spec names, and nothing of the project's
 * contents.
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
      return `Namespace ${namespace} has no grant for project ${projectId}, so the operator deletes nothing there that it did not create. ${ask}, or set the deletionPolicy to Retain.`;
  }
}
