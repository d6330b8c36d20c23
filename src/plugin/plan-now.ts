import { parseAllDocuments } from "yaml";
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { keyText, type ResourceKey, type ResourceStore } from "../domain/resource-store.ts";
import { fullGrant, type GrantOf, type PlaneProblem, type ProjectGrant } from "../engine/grant.ts";
import { Projects } from "../engine/memory.ts";
import { ProjectReconcile } from "../engine/project-reconciler.ts";
import { EndpointKind } from "../kinds/endpoint/endpoint-kind.ts";
import type { Plan } from "../kinds/endpoint/plan.ts";
import { ProjectOperations } from "../operations/reader.ts";
import {
  type ComputeEndpoint,
  indexesOfEndpoint,
  planeOf,
  workKeyOf,
  workProjectOf,
} from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import { recordedName } from "../resource/control-plane-resource.ts";
import type { Identity } from "../resource/identity.ts";
import { finalizer } from "../resource/names.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { isBeingDeleted } from "../resource/stored-object.ts";
import type { KnownGrants } from "./read-grants.ts";

interface PlanInput {
  readonly resource: ComputeEndpoint;
  /** Every other ComputeEndpoint of the cluster. */
  readonly others: readonly ComputeEndpoint[];
  readonly identity: Identity;
  readonly clock: Clock;
  /** The control plane of the resource; `undefined`: it cannot be used, see `problem`. */
  readonly controlPlane: ControlPlane | undefined;
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
 * Runs the operator's engine for one reconcile, up to the decision, and writes nothing. A running operator may wait where
 * this plan acts: after a failure, or while it sends another change first. @throws ControlPlaneError
 */
export async function planNow(input: PlanInput): Promise<PlannedStep> {
  const { resource, others, clock, controlPlane, problem, grants } = input;
  const id = planeOf(resource);
  const identity = { ...input.identity, controlPlane: recordedName(id) };
  const projects = new Projects({ clock, operationsOf: () => new ProjectOperations({ clock }) });
  const grantOf: GrantOf = (...of) => grants(...of) ?? grantShownBy(resource);
  const unit = { id, identity, projects, grantOf, problem, access: undefined, isKnown: true };
  const kinds = [new EndpointKind(storeOf([...others, withFinalizer(resource)]))];
  const context = { clock, policy, kinds, unitOf: () => unit, projectPollMs: Number.POSITIVE_INFINITY, ...silent };
  const reconcile = new ProjectReconcile(context, { unit, key: workKeyOf(resource) });
  const step = await reconcile.planOf(resource.uid, controlPlane);
  if (step === undefined) throw new Error("unreachable: a resource is reconciled with its own project");
  const isGrantAssumed = grants(resource.key.namespace, workProjectOf(resource)) === undefined;
  return { plan: step.plan as Plan, afterOperation: step.afterOperation, isGrantAssumed };
}

/** The operator adds its finalizer to a new resource, and goes on at once. */
function withFinalizer(resource: ComputeEndpoint): ComputeEndpoint {
  return isBeingDeleted(resource) ? resource : { ...resource, finalizers: [...resource.finalizers, finalizer] };
}

/** A store that only reads. */
function storeOf(resources: readonly ComputeEndpoint[]): ResourceStore<ComputeEndpoint, ComputeEndpointStatus> {
  const get = (key: ResourceKey) => resources.find((each) => keyText(each.key) === keyText(key));
  const refuse = async () => {
    throw new Error("unreachable: a plan writes nothing");
  };
  const withIndex = (index: string) => resources.filter((each) => indexesOfEndpoint(each).includes(index));
  const reads = { get, current: async (key: ResourceKey) => get(key), read: async (key: ResourceKey) => get(key) };
  return {
    ...reads,
    list: () => resources,
    withIndex,
    addFinalizer: refuse,
    removeFinalizer: refuse,
    patchStatus: refuse,
  };
}

const nothing = () => {};
const silent = {
  random: () => 0,
  events: { record: nothing },
  metrics: { countEnded: nothing, logCutShort: nothing, forgetResource: nothing },
  logger: { debug: nothing, info: nothing, warn: nothing, error: nothing },
};

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
      return "Look: an operation locks the project. The operator decides when it has ended.";
    case "Idle":
      return "Idle: nothing to do.";
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

/** Adds a uid, as the API server would. @throws Error when there is none */
export function manifestIn(text: string, name: string | undefined, namespace: string): FileManifest {
  const found = objectsIn(text).find(
    (object) => object.kind === "ComputeEndpoint" && (name === undefined || object.metadata?.name === name),
  );
  if (found?.metadata?.name === undefined)
    throw new Error(`The file has no ComputeEndpoint${name === undefined ? "" : ` ${name}`}.`);
  const metadata = { uid: "not-stored-yet", resourceVersion: "0" };
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
