/** The control plane of a resource, and the grants for it, as far as the user may read them. */
import type { Config } from "../config.ts";
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { fullGrant, type GrantOf, noGrant, type PlaneProblem } from "../engine/grant.ts";
import { type Policy, Projects } from "../engine/memory.ts";
import { namespaceKind } from "../kubernetes/namespace-grants.ts";
import { planeKinds } from "../kubernetes/store/resource-kinds.ts";
import { ProjectOperations } from "../operations/reader.ts";
import { planeGrantOf } from "../planes/grants.ts";
import { planeProblems } from "../planes/plane-status.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import {
  keyOfPlane,
  kindOfPlane,
  namespaceOfPlane,
  type PlaneResource,
  planeName,
  recordedName,
} from "../resource/control-plane-resource.ts";
import type { ControlPlaneSpec } from "../resource/control-plane-schema.ts";
import type { DatabaseBranch } from "../resource/database-branch.ts";
import { type Cluster, orRefusal } from "./cluster.ts";

export type Planned = ComputeEndpoint | DatabaseBranch;

/** The control plane of a resource as the user may read it. @throws KubernetesError, ControlPlaneError, Error */
export async function unitFor({ resource, id }: { readonly resource: Planned; readonly id: string }, reads: PlanReads) {
  const { cluster, controlPlane, settings, clock } = reads;
  const { namespace } = resource.key;
  const plane = await readPlane(cluster, id);
  requireUrl(controlPlane.serviceUrl, plane, resource);
  const known = await readGrants(reads, plane, namespace);
  // The operator's latest result stands in for Namespaces that the user may not read.
  const isRefused = conditionOf(resource.status.conditions, "Stalled")?.reason === "ProjectNotGranted";
  const grantOf = known ?? (() => (isRefused ? noGrant : fullGrant));
  const clusterId = settings.clusterId ?? (await cluster.clusterId());
  const identity = { clusterId, serviceUrl: controlPlane.serviceUrl, controlPlane: recordedName(id) };
  const projects = new Projects({ clock, operationsOf: () => new ProjectOperations({ clock }) });
  const unit = { id, projects, identity, grantOf, access: undefined, isKnown: true, problem: problemOf(plane) };
  const notes = [
    plane.resource === "Forbidden" && `You may not read ${planeName(id)}: the plan trusts CONTROL_PLANE_URL.`,
    known === undefined && "You may not read Namespaces: the plan uses the grant that status shows.",
  ];
  return { unit, notes: notes.filter((note) => note !== false) };
}

export interface ReadPlane {
  readonly id: string;
  /** `None`: no resource describes the control plane, because it is that of the settings, or the reference is wrong. */
  readonly resource: PlaneResource | "None" | "Absent" | "Forbidden";
}

export async function readPlane(cluster: Pick<Cluster, "get">, id: string): Promise<ReadPlane> {
  const kind = kindOfPlane(id);
  const resource = kind === undefined ? "None" : await orRefusal(cluster.get(planeKinds[kind], keyOfPlane(id)));
  return { id, resource };
}

/** Returns why the operator cannot use the control plane; `undefined`: no reason is visible to the user. Pure. */
export function problemOf({ id, resource }: ReadPlane): PlaneProblem | undefined {
  if (resource === "Absent") return planeProblems.notFound(id);
  if (typeof resource === "string") return undefined;
  const stalled = conditionOf(resource.status.conditions, "Stalled");
  // The resources that use a refused key report it themselves.
  const isStalled = stalled?.status === "True" && stalled.reason !== "Unauthorized";
  return isStalled || resource.spec.kind === "Invalid" ? planeProblems.notReady(id) : undefined;
}

/** @throws Error when the control plane, or the record of the resource that uses it, has another URL */
export function requireUrl(serviceUrl: string, plane: ReadPlane, user?: Planned): void {
  const { ownership, createIntent } = user?.status ?? {};
  const described = specOf(plane)?.url;
  const wanted = described ?? (ownership ?? createIntent)?.serviceUrl;
  if (wanted !== undefined && new URL(wanted).href !== new URL(serviceUrl).href) {
    const where = described === undefined ? "the control plane that made status" : planeName(plane.id);
    const advice = "Set CONTROL_PLANE_URL and the key to those of that control plane.";
    throw new Error(`CONTROL_PLANE_URL is ${serviceUrl}, but ${where} is at ${wanted}. ${advice}`);
  }
}

function specOf({ resource }: ReadPlane): ControlPlaneSpec | undefined {
  return typeof resource !== "string" && resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
}

export interface PlanReads {
  readonly cluster: Pick<Cluster, "clusterId" | "get" | "list">;
  readonly controlPlane: ControlPlane;
  readonly settings: Pick<Config, keyof Policy | "clusterId" | "projectGrants" | "watchNamespaces">;
  readonly clock: Clock;
  /** Resources as files will leave them. They count in place of what is stored. @default none */
  readonly latest?: readonly ComputeEndpoint[];
}

/** @returns what a namespace may do; `undefined`: the user may read too little to know. @throws KubernetesError */
export async function readGrants(
  { cluster, settings }: Pick<PlanReads, "settings"> & { readonly cluster: Pick<Cluster, "get" | "list"> },
  plane: ReadPlane,
  namespace: string,
): Promise<GrantOf | undefined> {
  const { projectGrants: mode, watchNamespaces: watched } = settings;
  if (namespaceOfPlane(plane.id) !== undefined) return () => fullGrant;
  if (plane.resource === "Forbidden") return undefined;
  const projects = specOf(plane)?.projects;
  const own = await orRefusal(cluster.get(namespaceKind, { namespace: "", name: namespace }));
  if (typeof own === "string") return undefined;
  const { facts } = own;
  const all = await orRefusal(cluster.list(namespaceKind));
  const isListed = typeof all !== "string";
  // With `WhenUsed`, a Namespace that the user cannot read may have the annotation. Then a grant is needed.
  const isAnnotated = (facts.annotation ?? facts.branchesOf) !== undefined;
  const isCertain = mode !== "WhenUsed" || isListed || projects !== undefined || isAnnotated;
  if (!isCertain) return undefined;
  const inUse = isListed ? all.filter(({ key }) => watched.length === 0 || watched.includes(key.name)) : [];
  const isAnyAnnotated = inUse.some((each) => each.facts.annotation !== undefined);
  const question = { namespace, facts: { ...facts, isAnyAnnotated } };
  return (_, projectId) => planeGrantOf({ id: plane.id, projects }, { ...question, projectId }, mode);
}
