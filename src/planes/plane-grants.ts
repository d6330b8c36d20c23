/** Decides which namespace may use which project of a control plane that a resource describes. */
import { fullGrant, type GrantMode, noGrant, type ProjectGrant, projectGrantOf } from "../decide/project-grant.ts";
import type { NamespaceGrants } from "../domain/namespace-grants.ts";
import type { PlaneResource } from "../resource/control-plane-resource.ts";
import type { ControlPlaneSpec, LabelSelector } from "../resource/control-plane-schema.ts";

type ProjectRule = NonNullable<ControlPlaneSpec["projects"]>[number];

/** The namespace and the project that a grant is asked for, and the grants of that Namespace. */
export interface GrantQuestion {
  readonly namespace: string;
  readonly projectId: string;
  readonly facts: NamespaceGrants;
}

/**
 * Returns what a namespace may do in a project of the control plane. Pure and total.
 * The key of a ControlPlane belongs to its namespace, so its resources need no grant. A ClusterControlPlane grants by
 * `projects`. If it has none, the annotation of the Namespace grants. The annotation never extends `projects`, because
 * its project ids, or its `*`, may be meant for another account.
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

/** Whether a selector selects an object with these labels, as Kubernetes defines it. Pure. */
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
