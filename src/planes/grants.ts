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

type ProjectRule = NonNullable<ControlPlaneSpec["projects"]>[number];

interface GrantQuestion {
  readonly namespace: string;
  readonly projectId: string;
  readonly facts: NamespaceGrants;
}

/**
 * Returns what a namespace may do in a project of the control plane. Pure and total.
 * The API key of a ControlPlane belongs to its namespace, so that namespace needs no grant. A ClusterControlPlane
 * grants by `projects`. Without them, the annotation of the Namespace grants. The annotation never extends `projects`,
 * because its project ids, or its `*`, may be meant for another account.
 * @param projects the rules of a ClusterControlPlane
 */
export function planeGrantOf(
  { id, projects }: Pick<ControlPlaneSpec, "projects"> & { readonly id: string },
  { namespace, projectId, facts }: GrantQuestion,
  mode: GrantMode,
): ProjectGrant {
  if (namespaceOfPlane(id) !== undefined) {
    return fullGrant;
  }
  if (projects === undefined) {
    return grantByAnnotation(projectId, facts, mode);
  }
  const isGranted = projects.some(
    (rule) => ["*", projectId].includes(rule.id) && isForNamespace(rule, namespace, facts),
  );
  return isGranted ? fullGrant : noGrant;
}

/**
 * One annotation holds project ids separated by commas, or `*` for all projects; the other one parents of branches. With
 * one of them, the mode does not count. Branches of previews come and go, so their grant asks no other Namespace for one.
 */
function grantByAnnotation(projectId: string, facts: NamespaceGrants, mode: GrantMode): ProjectGrant {
  const { annotation, branchesOf, isAnyAnnotated } = facts;
  if (annotation !== undefined || branchesOf !== undefined) {
    const granted = entriesOf(annotation);
    const isGranted = granted.includes("*") || (projectId !== "" && granted.includes(projectId));
    const parents = entriesOf(branchesOf).filter((entry) => entry.startsWith(`${projectId}/`));
    const names = projectId === "" ? [] : parents.map((entry) => entry.slice(projectId.length + 1));
    return isGranted ? fullGrant : { ...noGrant, ...(names.length > 0 && { branchesOf: names }) };
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

function entriesOf(annotation = ""): readonly string[] {
  return annotation.split(",").map((entry) => entry.trim());
}

/** Whether a rule is for the namespace. If the Namespace cannot be read, only its name can select it. */
function isForNamespace({ namespaces }: ProjectRule, namespace: string, { labels }: NamespaceGrants): boolean {
  const { names = [], selector } = namespaces;
  return names.includes(namespace) || (selector !== undefined && labels !== undefined && isSelected(selector, labels));
}

/** A label may have the name of a member that every object has. */
export function isSelected(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  const known = new Map(Object.entries(labels));
  return (
    Object.entries(matchLabels).every(([name, value]) => known.get(name) === value) &&
    matchExpressions.every((requirement) => isMet(requirement, known.get(requirement.key)))
  );
}

type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];

/** Only In and NotIn have values. */
function isMet({ operator, values = [] }: Requirement, value: string | undefined): boolean {
  const isFound = value !== undefined && (values.length === 0 || values.includes(value));
  return isFound === (operator === "In" || operator === "Exists");
}
