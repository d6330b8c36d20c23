import { parseAllDocuments } from "yaml";
import type { Identity } from "../decide/identity.ts";
import type { Plan } from "../decide/plan.ts";
import { localPlanOf } from "../decide/plan-resource.ts";
import { isMutation } from "../decide/plan-table.ts";
import { fullGrant, type GrantOf, type PlaneProblem, type ProjectGrant } from "../decide/project-grant.ts";
import type { Clock } from "../domain/clock.ts";
import { ProjectOperations } from "../operations/reader.ts";
import { EndpointLook } from "../reconcile/look.ts";
import { type ControlPlaneReads, observeProject } from "../reconcile/observe-project.ts";
import { entryFor, noteStoredIntent, Projects } from "../reconcile/project-memory.ts";
import { Round } from "../reconcile/round.ts";
import { lockHolderOf } from "../reconcile/schedule.ts";
import { type ComputeEndpoint, planeOf, projectsOf, workProjectOf } from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import { recordedName } from "../resource/control-plane-resource.ts";
import { finalizer } from "../resource/names.ts";
import type { KnownGrants } from "./read-grants.ts";

interface PlanInput {
  readonly resource: ComputeEndpoint;
  /** Every other ComputeEndpoint of the cluster. */
  readonly others: readonly ComputeEndpoint[];
  readonly identity: Identity;
  readonly clock: Clock;
  /** The control plane of the resource; `undefined`: it cannot be used, see `problem`. */
  readonly controlPlane: ControlPlaneReads | undefined;
  /** Why the operator cannot use the control plane. @default no problem */
  readonly problem?: PlaneProblem | undefined;
  readonly grants: KnownGrants;
}

export interface PlannedStep {
  readonly plan: Plan;
  /** The operation that locks the project and delays the plan; `undefined`: none does. */
  readonly afterOperation: string | undefined;
  /** Whether the plan uses the grant that the status shows, because the user may not read the grants of Namespaces. */
  readonly isGrantAssumed: boolean;
}

/** The default settings of the operator. The plugin does not know other settings. */
const policy = { createSettleMs: 150_000, operationPollMs: 5_000, resyncMs: 600_000 };

/**
 * Runs the operator's code for one reconcile, up to the decision, and writes nothing. A running operator may wait where
 * this plan acts: after a failure, or while it sends another change first. @throws ControlPlaneError
 */
export async function planNow(input: PlanInput): Promise<PlannedStep> {
  const { resource, others, clock, controlPlane, problem: planeProblem, grants } = input;
  const planeId = planeOf(resource);
  const identity = { ...input.identity, controlPlane: recordedName(planeId) };
  const projects = new Projects({ clock, operationsOf: () => new ProjectOperations({ clock }) });
  const project = projects.of(workProjectOf(resource));
  const facts = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs(), identity, policy, planeProblem };
  const all = [...others, resource].filter(
    (each) => planeOf(each) === planeId && projectsOf(each).includes(project.projectId),
  );
  const worked = all
    .filter((each) => workProjectOf(each) === project.projectId)
    .map((each) => ({ resource: each, entry: entryFor(project, each, facts.monotonicMs) }));
  for (const { entry, resource: stored } of worked) noteStoredIntent(entry, stored, facts.monotonicMs);
  const grantOf: GrantOf = (...of) => grants(...of) ?? grantShownBy(resource);
  const round = new Round(facts, project, { all, worked, grantOf });
  const isGrantAssumed = grants(resource.key.namespace, workProjectOf(resource)) === undefined;
  const due = worked.filter((each) => each.resource.uid === resource.uid);
  const [local] = due.map((each) => round.observe(each));
  if (local === undefined) throw new Error("unreachable: a resource names its own project");
  const plan = localPlanOf(local);
  if (plan !== undefined) return { plan, afterOperation: undefined, isGrantAssumed };
  if (controlPlane === undefined) throw new Error("unreachable: a problem of the control plane is decided locally");
  const reads = { clock, controlPlane };
  const seen = await observeProject(reads, round);
  const look = new EndpointLook(reads, round, seen);
  const [first] = await look.decideDue(due);
  if (first === undefined) throw new Error("unreachable: what is due is decided");
  const error = look.readErrorOf(first.worked);
  if (error !== undefined) throw error;
  const lockHolder = lockHolderOf(project, facts.monotonicMs);
  return { plan: first.plan, afterOperation: isMutation(first.plan) ? lockHolder : undefined, isGrantAssumed };
}

/** The operator's latest result stands in for Namespaces that the user may not read. */
function grantShownBy({ status }: ComputeEndpoint): ProjectGrant {
  const isRefused = conditionOf(status.conditions, "Stalled")?.reason === "ProjectNotGranted";
  return isRefused ? { mayChange: false, mayAdopt: false } : fullGrant;
}

export interface CheckedStep extends PlannedStep {
  /** Whether CONTROL_PLANE_URL was not compared, because the user may not read the control plane of the resource. */
  readonly isUrlAssumed: boolean;
}

export function planText({ plan, afterOperation, isGrantAssumed, isUrlAssumed }: CheckedStep): string {
  const waits =
    afterOperation === undefined ? "" : `\n  First the operation ${afterOperation} must end: it locks the project.`;
  const assumed = isGrantAssumed
    ? "\n  You may not read the grants of Namespaces: the plan uses what the resource's status says about them."
    : "";
  const url = isUrlAssumed
    ? "\n  You may not read the control plane of the resource: the plan trusts that CONTROL_PLANE_URL is its URL."
    : "";
  return `${textOf(plan)}${waits}${assumed}${url}`;
}

function textOf(plan: Plan): string {
  switch (plan.kind) {
    case "AddFinalizer":
      return "AddFinalizer: the operator adds its finalizer, and then decides again.";
    case "RemoveFinalizer":
      return `RemoveFinalizer: the resource is released (${plan.cause}).`;
    case "CreateEndpoint":
      return `CreateEndpoint: one endpoint is created: ${JSON.stringify(plan.creation)}.`;
    case "CloseIntent":
      return `CloseIntent: the open create ends (${plan.cause}).`;
    case "RecordOwnership":
      return `RecordOwnership: status records that the resource owns the endpoint ${plan.endpoint.id} (${plan.ownership.origin}).`;
    case "ForgetEndpoint":
      return `ForgetEndpoint: the record of ${plan.endpointId} is removed, because the endpoint is gone.`;
    case "UpdateEndpoint":
      return `UpdateEndpoint: ${plan.endpointId} gets ${JSON.stringify(plan.changes)}${plan.restarts ? "; the compute restarts and drops its connections" : ""}.`;
    case "MoveEndpoint":
      return `MoveEndpoint: ${plan.endpointId} moves to the branch ${plan.branchId}.`;
    case "ChangePower":
      return `ChangePower: an annotation asks to ${plan.action} the compute of ${plan.endpointId}.`;
    case "DeleteEndpoint":
      return `DeleteEndpoint: ${plan.endpointId} is deleted.`;
    case "Look":
      return `Look: the operator reads ${plan.endpointId} by id, and then decides again.`;
    case "Wait":
      return `Wait: ${plan.reason}: ${plan.message}`;
    case "Settled":
      return "Settled: nothing to do.";
    case "Stall":
      return `Stall: ${plan.reason}: ${plan.message}`;
  }
}

/** A ComputeEndpoint from a file, completed to the form that the API server would store. */
interface FileManifest {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly finalizers: readonly string[];
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: unknown;
}

/** Returns the object as `kubectl apply` of the manifest would store it: annotations are added. Pure. */
export function appliedTo(stored: unknown, { metadata: { annotations }, spec }: FileManifest): object {
  const object = stored as { readonly metadata: { readonly annotations?: object } };
  const metadata = { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } };
  return { ...object, metadata, spec };
}

/** Adds a uid and the finalizer, as the API server and the operator would. @throws Error when there is none */
export function manifestIn(text: string, name: string | undefined, namespace: string): FileManifest {
  const found = objectsIn(text).find(
    (object) => object.kind === "ComputeEndpoint" && (name === undefined || object.metadata?.name === name),
  );
  if (found?.metadata?.name === undefined)
    throw new Error(`The file has no ComputeEndpoint${name === undefined ? "" : ` ${name}`}.`);
  const metadata = { uid: "not-stored-yet", resourceVersion: "0", finalizers: [finalizer] };
  const { name: own, annotations = {} } = found.metadata;
  return {
    metadata: { ...metadata, name: own, namespace: found.metadata.namespace ?? namespace, annotations },
    spec: found.spec,
  };
}

interface FileObject {
  readonly kind?: string;
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
  readonly items?: readonly FileObject[];
}

function objectsIn(text: string): readonly FileObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw new Error(`The file is not YAML: ${problem.message}`);
    const object = document.toJS() as FileObject | null;
    return object?.items ?? (object === null ? [] : [object]);
  });
}
