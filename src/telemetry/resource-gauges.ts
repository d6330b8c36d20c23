/** The metrics about resources. Gauges are computed from the cache at each scrape. */
import { isInFlight, type OperationsAge } from "../domain/operation.ts";
import { type ResourceKey, type SecretObserver, secretWriteCauses } from "../domain/resource-store.ts";
import { type ComputeEndpoint, projectIdOf } from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { DatabaseBranch } from "../resource/database-branch.ts";
import type { StatusOperation } from "../resource/status-schema.ts";
import {
  type BoundedLabel,
  createBoundedLabel,
  type Labels,
  type MetricsRegistry,
  type Series,
} from "./metrics-registry.ts";

/** The maximum number of different states in labels. About a third of this number is known. */
const maxStates = 20;

export interface ResourceGaugesOptions {
  readonly resources: () => readonly ComputeEndpoint[];
  readonly nowMs: () => number;
  /** Returns for each project with resources how long ago its operations were read completely. */
  readonly operationsAges: () => readonly OperationsAge[];
}

export function registerResourceGauges(
  registry: MetricsRegistry,
  { resources, nowMs, operationsAges }: ResourceGaugesOptions,
  boundAction: BoundedLabel,
): void {
  const boundState = createBoundedLabel(maxStates);
  const failed = "1 after an operation failed, until the same action succeeds or a person acknowledges the failure.";
  registry.ofEach(resources, {
    compute_endpoint_condition: [
      "1 for each condition of a resource; the status of the condition is a label.",
      ({ key, status }) =>
        (status.conditions ?? []).map((each) => [{ ...keyLabels(key), type: each.type, status: each.status }, 1]),
    ],
    compute_endpoint_info: [
      "1 for each resource; the labels name its endpoint.",
      (resource) => [[infoLabels(resource), 1]],
    ],
    compute_endpoint_state: [
      "1 for the last known state of the endpoint; idle is healthy.",
      ({ key, status: { state } }) =>
        state === undefined ? [] : [[{ ...keyLabels(key), state: boundState(key.namespace, state) }, 1]],
    ],
    compute_endpoint_operation_failed: [
      failed,
      ({ key, status: { failedActions = [] } }) => {
        // Beyond the limit, several actions have the same label `other`. The set keeps one series for them.
        const actions = new Set(failedActions.map(({ action }) => boundAction(key.namespace, action)));
        return [...actions].map((action) => [{ ...keyLabels(key), action }, 1]);
      },
    ],
    compute_endpoint_change_pending_seconds: [
      "Time for which a change that drops connections has waited, while one waits.",
      (resource) => ageOf(resource, Date.parse(resource.status.pendingChange?.sinceTime ?? ""), nowMs()),
    ],
    compute_endpoint_operation_oldest_in_flight_seconds: [
      "Age of the oldest operation in flight, while there is one.",
      (resource) => {
        const begun = inFlightOf(resource).map(({ createdTime }) => Date.parse(createdTime));
        return ageOf(resource, Math.min(...begun.filter(Number.isFinite)), nowMs());
      },
    ],
    compute_endpoint_unsuspended_seconds: [
      "Time since the last start of a compute that runs, if its spec has a suspend delay.",
      (resource) => {
        const { usage, activeSchedule } = resource.status;
        const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
        const scheduled = spec?.schedules?.find(({ name }) => name === activeSchedule);
        const { mode = "Never" } = scheduled?.suspend ?? spec?.suspend ?? {};
        return usage?.isActive && mode !== "Never" ? ageOf(resource, Date.parse(usage.asOfTime), nowMs()) : [];
      },
    ],
  });
  // An action that has appeared once keeps a series with 0, so that a graph shows no gap.
  const seen = new Set<string>();
  registry.computed(
    "compute_endpoint_operations_in_flight",
    "Operations that the control plane is carrying out now.",
    () => {
      const inFlight = resources().flatMap((resource) =>
        inFlightOf(resource).map(({ action }) => boundAction(resource.key.namespace, action)),
      );
      for (const action of inFlight) seen.add(action);
      return [...seen].map((action) => [{ action }, inFlight.filter((each) => each === action).length]);
    },
  );
  registry.ofEach(operationsAges, {
    operations_age_seconds: [
      "Time since the operator last read the operations of a project completely. It grows with the number of projects.",
      ({ controlPlane, projectId, ageMs }) => [[{ control_plane: controlPlane, project_id: projectId }, ageMs / 1_000]],
    ],
  });
}

function ageOf({ key }: { readonly key: ResourceKey }, sinceMs: number, nowMs: number): readonly Series[] {
  return Number.isFinite(sinceMs) ? [[keyLabels(key), Math.max(0, nowMs - sinceMs) / 1_000]] : [];
}

/** Returns the labels of a resource. The key may have more fields, which must not become labels. */
function keyLabels({ namespace, name }: ResourceKey): Labels {
  return { namespace, name };
}

function infoLabels(resource: ComputeEndpoint): Labels {
  const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
  return {
    ...keyLabels(resource.key),
    project_id: projectIdOf(resource) ?? "",
    branch_id: spec?.branchId ?? resource.status.branchId ?? "",
    endpoint_id: resource.status.ownership?.endpointId ?? "",
    type: spec?.type ?? "",
  };
}

function inFlightOf({ status }: ComputeEndpoint): readonly StatusOperation[] {
  return (status.operations ?? []).filter(isInFlight);
}

export function createAccessMetrics(
  registry: MetricsRegistry,
  resources: () => readonly DatabaseAccess[],
  nowMs: () => number,
): SecretObserver {
  registry.ofEach(resources, {
    database_access_ready: [
      "1 while a DatabaseAccess is Ready, else 0.",
      ({ key, status }) => [[keyLabels(key), Number(isTrue(status.conditions, "Ready"))]],
    ],
    database_access_password_age_seconds: [
      "Time since the password was reset, or since the operator first knew it.",
      (resource) => {
        const { rotatedTime, knownSinceTime } = resource.status.password ?? {};
        return ageOf(resource, Date.parse(rotatedTime ?? knownSinceTime ?? ""), nowMs());
      },
    ],
  });
  const writes = registry.counter(
    "database_access_secret_writes_total",
    "Writes of Secrets with connection data, by cause.",
    ["cause"],
    secretWriteCauses.map((cause) => ({ cause })),
  );
  const resets = registry.counter(
    "database_access_password_resets_total",
    "Passwords that the control plane reset because the operator asked for it.",
  );
  return { secretWritten: (cause) => writes.inc({ cause }), passwordReset: () => resets.inc() };
}

export function registerBranchGauges(
  registry: MetricsRegistry,
  resources: () => readonly DatabaseBranch[],
  nowMs: () => number,
): void {
  registry.ofEach(resources, {
    database_branch_info: [
      "1 for each DatabaseBranch; the labels name its branch.",
      ({ key, place, status: { branchId = "" } }) => [
        [{ ...keyLabels(key), project_id: place.projectId, branch_id: branchId }, 1],
      ],
    ],
    database_branch_ready: [
      "1 while a DatabaseBranch is Ready, else 0.",
      ({ key, status }) => [[keyLabels(key), Number(isTrue(status.conditions, "Ready"))]],
    ],
    database_branch_deleting_seconds: [
      "Time since the deletion of a DatabaseBranch was requested, while it is being deleted.",
      (resource) => ageOf(resource, Date.parse(resource.deletionTimestamp ?? ""), nowMs()),
    ],
    database_branch_lease_left: [
      "The part of its lease that a branch has left, from 0 to 1; the operator renews it at a half.",
      ({ key, spec, status }) => {
        const leaseMs = (spec.kind === "Valid" ? (spec.spec.leaseDurationSeconds ?? 0) : 0) * 1_000;
        const leftMs = Date.parse(status.expiresTime ?? "") - nowMs();
        return leaseMs > 0 && Number.isFinite(leftMs) ? [[keyLabels(key), Math.max(0, leftMs / leaseMs)]] : [];
      },
    ],
  });
}
