import { parseAllDocuments } from "yaml";
import { claimOf, ProjectClaims } from "../decide/claims.ts";
import type { Identity } from "../decide/identity.ts";
import type { LocalObservation } from "../decide/observation.ts";
import type { Plan } from "../decide/plan.ts";
import { planLocal } from "../decide/plan-local.ts";
import { planRemote } from "../decide/plan-resource.ts";
import { fullGrant } from "../decide/project-grant.ts";
import { isLocal, situationOf } from "../decide/situation.ts";
import type { EndpointList } from "../domain/control-plane.ts";
import { isInFlight, type Operation } from "../domain/operation.ts";
import { newResourceEntry } from "../reconcile/project-memory.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import { finalizer } from "../resource/names.ts";
import { PluginError } from "./access.ts";

/** What a plan is made from: stored resources and one read of the control plane. */
interface PlanInput {
  readonly resource: ComputeEndpoint;
  /** Every resource of the cluster that names the project, `resource` included. */
  readonly all: readonly ComputeEndpoint[];
  readonly identity: Identity;
  readonly projectId: string;
  readonly list: EndpointList;
  /** The newest operations of the project. */
  readonly operations: readonly Operation[];
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** As the operator's defaults: a plan never waits, so only the settle time matters. */
const policy = { createSettleMs: 150_000, operationPollMs: 5_000, resyncMs: 600_000 };

/**
 * What a freshly started operator would do next for a resource: the operator's own decision, without its memory. Pure.
 *
 * An operator that runs may wait where this plan acts, for instance after a failure, or while another change of the project is
 * under way.
 */
export function planNow(input: PlanInput): Plan {
  const { resource, identity, nowMs } = input;
  const { memory } = newResourceEntry(resource.key, resource.deletionTimestamp !== undefined, 0);
  // People may not read their Namespace object, so what the operator said last about the grant stands.
  const isRefused = conditionOf(resource.status.conditions, "Stalled")?.reason === "ProjectNotGranted";
  const grant = isRefused ? { mayChange: false, mayAdopt: false } : fullGrant;
  const local: LocalObservation = { nowMs, monotonicMs: 0, resource, identity, policy, memory, grant };
  const situation = situationOf(local);
  if (isLocal(situation)) return planLocal(situation, local);
  const { list, projectId, operations } = input;
  const unstored = { answeredEndpointId: undefined, posts: "Unresolved" as const };
  const claims = input.all.map((each) => claimOf(each, identity, unstored));
  return planRemote(situation, {
    ...local,
    project: {
      ...{ projectId, startedAtMs: 0, serviceTimeMs: list.serviceTimeMs, unreadableIds: list.unreadableIds },
      endpoints: new Map(list.endpoints.map((endpoint) => [endpoint.id, endpoint])),
      readsById: new Map(),
      echoesNames: list.endpoints.some(({ name }) => name !== undefined),
    },
    claims: new ProjectClaims(claims, identity),
    operations: {
      ownInFlight: ownInFlight(resource, operations),
      inFlightForMs: 0,
      failedIds: new Set((resource.status.failedActions ?? []).map(({ operationId }) => operationId)),
    },
  });
}

/** Operations in flight whose cause in status is a call of the operator. */
function ownInFlight({ status }: ComputeEndpoint, operations: readonly Operation[]): readonly Operation[] {
  const own = new Set((status.operations ?? []).filter(({ cause }) => cause === "SpecChange").map(({ id }) => id));
  return operations.filter((operation) => own.has(operation.id) && isInFlight(operation));
}

/** A plan as one line for people. Pure. */
export function planText(plan: Plan): string {
  switch (plan.kind) {
    case "AddFinalizer":
      return "AddFinalizer: the operator adds its finalizer, and then decides again.";
    case "RemoveFinalizer":
      return `RemoveFinalizer: the resource goes (${plan.cause}).`;
    case "CreateEndpoint":
      return `CreateEndpoint: one endpoint is created: ${JSON.stringify(plan.creation)}.`;
    case "CloseIntent":
      return `CloseIntent: the open create ends (${plan.cause}).`;
    case "RecordOwnership":
      return `RecordOwnership: the endpoint ${plan.endpoint.id} is recorded (${plan.ownership.origin}).`;
    case "ForgetEndpoint":
      return `ForgetEndpoint: the record of ${plan.endpointId} is removed, because the endpoint is gone.`;
    case "UpdateEndpoint":
      return `UpdateEndpoint: ${plan.endpointId} gets ${JSON.stringify(plan.changes)}${plan.restarts ? "; the compute restarts and drops its connections" : ""}.`;
    case "MoveEndpoint":
      return `MoveEndpoint: ${plan.endpointId} moves to the branch ${plan.branchId}.`;
    case "DeleteEndpoint":
      return `DeleteEndpoint: ${plan.endpointId} is deleted.`;
    case "Wait":
      return `Wait: ${plan.reason}: ${plan.message}`;
    case "Settled":
      return "Settled: nothing to do.";
    case "Stall":
      return `Stall: ${plan.reason}: ${plan.message}`;
  }
}

/** A ComputeEndpoint of a file, as the API server would store it. */
interface FileManifest {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly finalizers: readonly string[];
  };
  readonly spec: unknown;
}

/**
 * Reads a ComputeEndpoint from YAML or JSON.
 *
 * It gets what the API server and the operator add first: a uid and the finalizer.
 *
 * @throws PluginError when the text is not YAML, or holds no ComputeEndpoint of this name.
 */
export function manifestIn(text: string, name: string | undefined, namespace: string): FileManifest {
  const found = objectsIn(text).find(
    (object) => object.kind === "ComputeEndpoint" && (name === undefined || object.metadata?.name === name),
  );
  if (found?.metadata?.name === undefined)
    throw new PluginError(`The file has no ComputeEndpoint${name === undefined ? "" : ` ${name}`}.`);
  const metadata = { uid: "not-stored-yet", resourceVersion: "0", finalizers: [finalizer] };
  return {
    metadata: { ...metadata, name: found.metadata.name, namespace: found.metadata.namespace ?? namespace },
    spec: found.spec,
  };
}

interface FileObject {
  readonly kind?: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly spec?: unknown;
  readonly items?: readonly FileObject[];
}

function objectsIn(text: string): readonly FileObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw new PluginError(`The file is not YAML: ${problem.message}`);
    const object = document.toJS() as FileObject | null;
    return object?.items ?? (object === null ? [] : [object]);
  });
}
