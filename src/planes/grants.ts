/** Decides what a namespace may do in a project of a control plane. */

import type { NamespaceGrants } from "../domain/resource-store.ts";
import { fullGrant, noGrant, type ProjectGrant } from "../engine/grant.ts";
import { namespaceOfPlane } from "../resource/control-plane-resource.ts";
import type { ControlPlaneSpec, LabelSelector } from "../resource/control-plane-schema.ts";

/**
 * What a namespace may do whose Namespace object has no annotation with project ids.
 * `Required`: nothing. `Open`: everything except adopt. `WhenUsed`: everything while no Namespace has the annotation;
 * as soon as one has it, nothing.
 */
export type GrantMode = "Required" | "Open" | "WhenUsed";

const openGrant: ProjectGrant = { mayChange: true, mayAdopt: false };

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

type ProjectRule = NonNullable<ControlPlaneSpec["projects"]>[number];

interface GrantQuestion {
  readonly namespace: string;
  readonly projectId: string;
  readonly facts: NamespaceGrants;
}

/** `projects`: the rules of a ClusterControlPlane. */
export interface GrantingPlane extends Pick<ControlPlaneSpec, "projects"> {
  readonly id: string;
}

/**
 * Returns what a namespace may do in a project of the control plane. Pure and total.
 * The API key of a ControlPlane belongs to its namespace, so that namespace needs no grant. A ClusterControlPlane
 * grants by `projects`. Without them, the annotation of the Namespace grants. The annotation never extends `projects`,
 * because its project ids, or its `*`, may be meant for another account.
 */
export function planeGrantOf(
  { id, projects }: GrantingPlane,
  { namespace, projectId, facts }: GrantQuestion,
  mode: GrantMode,
): ProjectGrant {
  if (namespaceOfPlane(id) !== undefined) {
    return fullGrant;
  }
  if (projects === undefined) {
    return projectGrantOf(projectId, facts, mode);
  }
  const isGranted = projects.some((rule) => isForProject(rule, projectId) && isForNamespace(rule, namespace, facts));
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
