import { keyText } from "../domain/resource-store.ts";
import type { ProjectFacts } from "../engine/kind.ts";
import { dryRun } from "../engine/project-reconciler.ts";
import { BranchesInProject } from "../kinds/branch/branch-kind.ts";
import type { Plan as BranchPlans, BranchTypes } from "../kinds/branch/branch-types.ts";
import { EndpointsInProject, traitsOf } from "../kinds/endpoint/endpoint-kind.ts";
import { releaseEvents } from "../kinds/endpoint/events-for.ts";
import { type EndpointTypes, type Plan, rulingIn } from "../kinds/endpoint/plan.ts";
import { endpointPlan, rulesOf } from "../kinds/endpoint/plan-table.ts";
import { computeEndpointKind, databaseBranchKind } from "../kubernetes/store/resource-kinds.ts";
import type { FindBranch } from "../resource/branch-place.ts";
import {
  type ComputeEndpoint,
  deletionFieldsOf,
  planeOf,
  projectsOf,
  workKeyOf,
  workProjectOf,
} from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import { branchProjectKey, type DatabaseBranch } from "../resource/database-branch.ts";
import { databaseBranchNames, finalizer } from "../resource/names.ts";
import { orRefusal } from "./cluster.ts";
import { type Planned, type PlanReads, unitFor } from "./plane.ts";
import { exitCodes, type Result } from "./why.ts";

/**
 * Returns what an operator would do that starts now. The running one may wait where this plan acts, after a failure
 * or while it sends another change first. It may act where this plan waits, because it knows that a create was refused.
 * @throws KubernetesError, ControlPlaneError, and Error when CONTROL_PLANE_URL is of another control plane
 */
export async function planNow(reads: PlanReads, resource: ComputeEndpoint) {
  const { cluster, controlPlane, settings, clock, latest = [] } = reads;
  const { unit, notes } = await unitFor({ resource, id: planeOf(resource) }, reads);
  const findBranch = await branchFinder(cluster, resource);
  const listed = await orRefusal(cluster.list(computeEndpointKind));
  const seen = typeof listed === "string" ? await cluster.list(computeEndpointKind, resource.key.namespace) : listed;
  const byUid = new Map([...seen, ...latest, resource].map((each) => [each.uid, each]));
  const isNamed = (each: ComputeEndpoint) => projectsOf(each).includes(workProjectOf(resource));
  const begin = (project: ProjectFacts) =>
    new EndpointsInProject(project, [...byUid.values()].filter(isNamed), findBranch);
  const context = { clock, policy: settings, kind: { begin, finalizer }, unit, key: workKeyOf(resource) };
  const step = await dryRun<EndpointTypes>(context, resource, controlPlane);
  const hidden = "You may not list ComputeEndpoints of other namespaces: one of them may own the endpoint.";
  return { ...step, resource, notes: seen === listed ? notes : [...notes, hidden] };
}

export async function planBranch(reads: PlanReads, resource: DatabaseBranch) {
  const { controlPlane, settings: policy, clock } = reads;
  const { unit, notes } = await unitFor({ resource, id: resource.place.planeId }, reads);
  const begin = (project: ProjectFacts) => new BranchesInProject(project);
  const kind = { begin, finalizer: databaseBranchNames.finalizer };
  const context = { clock, policy, kind, unit, key: branchProjectKey(resource) };
  return { ...(await dryRun<BranchTypes>(context, resource, controlPlane)), resource, notes };
}

/** Only the branch of the resource itself is read. Of other resources, what they own counts. */
async function branchFinder(cluster: PlanReads["cluster"], resource: ComputeEndpoint): Promise<FindBranch> {
  const { name } = deletionFieldsOf(resource).branchRef ?? {};
  const key = name === undefined ? undefined : { ...resource.key, name };
  const found = key && (await orRefusal(cluster.get(databaseBranchKind, key)));
  return (wanted) => (typeof found === "object" && keyText(wanted) === keyText(found.key) ? found : undefined);
}

/** The members of plans that the first line shows. All others are in the JSON. */
const shown = ["reason", "cause", "action", "endpointId", "branchId", "changes", "creation"];

interface PlanResult {
  readonly resource: Planned;
  readonly plan: Plan | BranchPlans;
  readonly afterOperation: string | undefined;
  readonly notes: readonly string[];
}

export function planned(result: PlanResult): Result {
  const { resource, plan, afterOperation, notes } = result;
  const name = keyText(resource.key);
  const { kind, ownership, ...members } = plan as { kind: string; ownership?: object };
  const all: Readonly<Record<string, unknown>> = { ...ownership, ...members };
  const values = shown.flatMap((member) => all[member] ?? []);
  const head = [kind, ...values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)))];
  const lock = afterOperation ? [`First the operation ${afterOperation} must end: it locks the project.`] : [];
  const lines = [`${name}: ${head.join(" ")}`, ...textsOf(result), ...lock, ...notes];
  return {
    value: { resource: name, ...plan, afterOperation, notes },
    text: `${lines.join("\n  ")}\n`,
    exitCode: kind === "Stall" ? exitCodes.personMustAct : isDone(plan) ? exitCodes.ok : exitCodes.goesOn,
  };
}

function isDone(plan: PlanResult["plan"]): boolean {
  return plan.kind === "Observe" || (plan.kind === "Settled" && !("ruling" in plan && plan.ruling?.wait !== undefined));
}

/** Status may know more of a create than that its answer is missing, for instance that the control plane refused it. */
function statedOtherwise(reason: string, { status }: Planned): readonly string[] {
  const { reason: said = reason, message } = conditionOf(status.conditions, "Ready") ?? {};
  const isOther = reason === "CreateUnresolved" && said !== reason;
  return isOther ? [`Status says ${said}: ${message} One that starts now would wait:`] : [];
}

/** What events and status will say. */
function textsOf({ plan, resource }: PlanResult): readonly string[] {
  if ("message" in plan) return [...statedOtherwise(plan.reason, resource), plan.message];
  if ("place" in resource) return [];
  const { status } = resource;
  const own = endpointPlan(plan as Plan);
  const events = plan.kind === "RemoveFinalizer" ? releaseEvents(plan.cause, status) : own && traitsOf(own).announced;
  const summary = own && rulesOf(own).summary(own);
  const then = summary && "reason" in summary ? [`then ${summary.reason}: ${summary.message}`] : [];
  const { wait, change } = rulingIn(own) ?? {};
  const held = wait !== undefined && plan.kind !== "Settled" ? [wait.message] : [];
  const isStored = change?.hash === status.pendingChange?.hash;
  const hint =
    wait && !isStored ? ["The operator has not stored this wait yet. Then its hash will be another one."] : [];
  return [...(events ?? []).map(({ note }) => note), ...then, ...held, ...hint];
}
