/** Decides what a namespace may do in a project of a control plane. */
import type { NamespaceGrants } from "../domain/resource-store.ts";
import type { PlaneStallReason } from "../resource/conditions.ts";
import type { PlaneResource } from "../resource/control-plane-resource.ts";
import type { ControlPlaneSpec, LabelSelector } from "../resource/control-plane-schema.ts";
import { grantAnnotation } from "../resource/names.ts";

/**
 * What a namespace may do whose Namespace object has no annotation with project ids.
 * `Required`: nothing. `Open`: everything except adopt. `WhenUsed`: everything while no Namespace has the annotation;
 * as soon as one has it, nothing.
 */
export type GrantMode = "Required" | "Open" | "WhenUsed";

export interface ProjectGrant {
  readonly mayChange: boolean;
  /**
   * Whether the namespace may adopt. Adoption can end in the deletion of an endpoint that another client created, so
   * `Open` does not allow it.
   */
  readonly mayAdopt: boolean;
}

export type GrantOf = (namespace: string, projectId: string) => ProjectGrant;

export const fullGrant: ProjectGrant = { mayChange: true, mayAdopt: true };

const openGrant: ProjectGrant = { mayChange: true, mayAdopt: false };

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

type ProjectRule = NonNullable<ControlPlaneSpec["projects"]>[number];

interface GrantQuestion {
  readonly namespace: string;
  readonly projectId: string;
  readonly facts: NamespaceGrants;
}

/**
 * Returns what a namespace may do in a project of the control plane. Pure and total.
 * The API key of a ControlPlane belongs to its namespace, so that namespace needs no grant. A ClusterControlPlane
 * grants by `projects`. If it has none, the annotation of the Namespace grants. The annotation never extends
 * `projects`, because its project ids, or its `*`, may be meant for another account. An invalid spec grants nothing.
 */
export function planeGrantOf(
  { kind, spec }: Pick<PlaneResource, "kind" | "spec">,
  { namespace, projectId, facts }: GrantQuestion,
  mode: GrantMode,
): ProjectGrant {
  if (kind === "ControlPlane") {
    return fullGrant;
  }
  const rules = spec.kind === "Valid" ? spec.spec.projects : [];
  if (rules === undefined) {
    return projectGrantOf(projectId, facts, mode);
  }
  const isGranted = rules.some((rule) => isForProject(rule, projectId) && isForNamespace(rule, namespace, facts));
  return isGranted ? fullGrant : noGrant;
}

function isForProject({ id }: ProjectRule, projectId: string): boolean {
  return id === "*" || (projectId !== "" && id === projectId);
}

/** Whether a rule is for the namespace. If the Namespace cannot be read, only its name can select it. */
function isForNamespace({ namespaces }: ProjectRule, namespace: string, { labels }: NamespaceGrants): boolean {
  const { names = [], selector } = namespaces;
  return names.includes(namespace) || (selector !== undefined && labels !== undefined && isSelected(selector, labels));
}

export function isSelected(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => labelOf(labels, name) === value) &&
    matchExpressions.every((requirement) => isMet(requirement, labelOf(labels, requirement.key)))
  );
}

type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];

function isMet({ operator, values = [] }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
  }
}

function labelOf(labels: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}
