/** The gauges about resources, computed from the cache at each scrape. */
import { Counter } from "prom-client";
import { isInFlight, type OperationsAge } from "../domain/operation.ts";
import { type ResourceKey, type SecretObserver, secretWriteCauses } from "../domain/resource-store.ts";
import { type ComputeEndpoint, projectIdOf, workKeyOf } from "../resource/compute-endpoint.ts";
import { conditionOf, isTrue } from "../resource/conditions.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { StatusOperation } from "../resource/status-schema.ts";
import {
  type BoundedLabel,
  type ComputedMetric,
  type Labels,
  type MetricsRegistry,
  registerComputed,
  type Series,
} from "./metrics-registry.ts";

/** The sources of the gauges about resources. */
export interface ResourceGaugesOptions {
  /** Returns the resources of the cache; called at each scrape. */
  readonly resources: () => readonly ComputeEndpoint[];
  /**
   * Returns the control plane's clock in epoch milliseconds; `undefined`: it has not shown its clock in this project.
   * @param key the key of the project
   */
  readonly serviceNowMs: (key: string) => number | undefined;
  /** How old the operator's knowledge of each project's operations is; called at each scrape. */
  readonly operationsAges: () => readonly OperationsAge[];
  readonly boundAction: BoundedLabel;
  readonly boundState: BoundedLabel;
}

/** Registers the gauges about ComputeEndpoints. */
export function registerResourceGauges(registry: MetricsRegistry, options: ResourceGaugesOptions): void {
  const { resources, operationsAges } = options;
  const gauges = [conditionGauge, infoGauge, stateGauge(options), failedGauge(options), oldestGauge(options)];
  for (const { seriesOf, ...gauge } of gauges) {
    registerComputed(registry, { ...gauge, series: () => seriesOfEach(resources(), seriesOf) });
  }
  registerInFlight(registry, options);
  registerComputed(registry, {
    name: "operations_age_seconds",
    help: "Time since the operator last read the operations of a project completely. It grows with the number of projects.",
    labelNames: ["control_plane", "project_id"],
    // A project without resources has no series.
    series: () =>
      operationsAges().map(({ controlPlane, projectId, ageMs }) => [
        { control_plane: controlPlane, project_id: projectId },
        ageMs / 1000,
      ]),
  });
}

/** One gauge, and how its series for one resource are computed. */
interface ResourceGauge extends Omit<ComputedMetric, "series"> {
  readonly seriesOf: (resource: ComputeEndpoint) => readonly Series[];
}

function* seriesOfEach<Resource>(
  resources: readonly Resource[],
  seriesOf: (resource: Resource) => readonly Series[],
): Generator<Series> {
  for (const resource of resources) {
    yield* seriesOf(resource);
  }
}

/**
 * Registers the number of running operations over all resources. An action that has appeared once stays at 0, so that a
 * graph shows no gap.
 */
function registerInFlight(registry: MetricsRegistry, { resources, boundAction }: ResourceGaugesOptions): void {
  const counts = new Map<string, number>();
  registerComputed(registry, {
    name: "compute_endpoint_operations_in_flight",
    help: "Operations that the control plane is carrying out now.",
    labelNames: ["action"],
    series: () => {
      for (const action of counts.keys()) {
        counts.set(action, 0);
      }
      for (const operation of resources().flatMap(inFlightOf)) {
        const action = boundAction(operation.action);
        counts.set(action, (counts.get(action) ?? 0) + 1);
      }
      return [...counts].map(([action, count]) => [{ action }, count]);
    },
  });
}

const conditionGauge: ResourceGauge = {
  name: "compute_endpoint_condition",
  help: "1 for each condition of a resource; the status of the condition is a label.",
  labelNames: ["namespace", "name", "type", "status"],
  seriesOf: ({ key, status: { conditions = [] } }) =>
    conditions.map(({ type, status }) => [{ ...keyLabels(key), type, status }, 1]),
};

const infoGauge: ResourceGauge = {
  name: "compute_endpoint_info",
  help: "1 for each resource; the labels name its endpoint.",
  labelNames: ["namespace", "name", "project_id", "branch_id", "endpoint_id", "type"],
  seriesOf: (resource) => {
    const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
    const labels = {
      ...keyLabels(resource.key),
      project_id: projectIdOf(resource) ?? "",
      branch_id: spec?.branchId ?? "",
      endpoint_id: resource.status.ownership?.endpointId ?? "",
      type: spec?.type ?? "",
    };
    return [[labels, 1]];
  },
};

function stateGauge({ boundState }: ResourceGaugesOptions): ResourceGauge {
  return {
    name: "compute_endpoint_state",
    help: "1 for the last known state of the endpoint; idle is healthy.",
    labelNames: ["namespace", "name", "state"],
    seriesOf: ({ key, status }) =>
      status.state === undefined ? [] : [[{ ...keyLabels(key), state: boundState(status.state) }, 1]],
  };
}

/**
 * Makes the gauge of failed operations. It follows the condition, because a failure that a person has acknowledged must
 * not cause an alert.
 */
function failedGauge({ boundAction }: ResourceGaugesOptions): ResourceGauge {
  return {
    name: "compute_endpoint_operation_failed",
    help: "1 after an operation failed, until the same action succeeds or a person acknowledges the failure.",
    labelNames: ["namespace", "name", "action"],
    seriesOf: ({ key, status }) => {
      if (conditionOf(status.conditions, "LastOperationSucceeded")?.status !== "False") {
        return [];
      }
      const failed = (status.failedActions ?? []).map(({ action }) => action);
      // All actions beyond the limit share the label `other`.
      const actions = new Set((failed.length > 0 ? failed : ["unknown"]).map(boundAction));
      return [...actions].map((action) => [{ ...keyLabels(key), action }, 1]);
    },
  };
}

/**
 * Makes the gauge of the oldest operation. It uses only the control plane's clock, because the operation's time comes
 * from that clock.
 */
function oldestGauge({ serviceNowMs }: ResourceGaugesOptions): ResourceGauge {
  return {
    name: "compute_endpoint_operation_oldest_in_flight_seconds",
    help: "Age of the oldest operation in flight by the control plane's clock, while there is one.",
    labelNames: ["namespace", "name"],
    seriesOf: (resource) => {
      const begun = inFlightOf(resource).map((operation) => Date.parse(operation.createdTime));
      const oldestMs = Math.min(...begun.filter(Number.isFinite));
      const ageMs = (serviceNowMs(workKeyOf(resource)) ?? Number.NaN) - oldestMs;
      return Number.isFinite(ageMs) ? [[keyLabels(resource.key), Math.max(0, ageMs) / 1000]] : [];
    },
  };
}

/**
 * Returns the labels of a resource: only these two fields, because an undeclared label would make the whole scrape
 * fail.
 */
function keyLabels({ namespace, name }: ResourceKey): Labels {
  return { namespace, name };
}

function inFlightOf({ status }: Pick<ComputeEndpoint, "status">): readonly StatusOperation[] {
  return (status.operations ?? []).filter(isInFlight);
}

/** What the gauges of DatabaseAccesses are computed from. */
export interface AccessMetricsOptions {
  readonly resources: () => readonly DatabaseAccess[];
  /** Returns the present time in epoch milliseconds. */
  readonly nowMs: () => number;
}

/** Makes the metrics of DatabaseAccesses. No label and no value comes from a Secret. */
export function createAccessMetrics(
  registry: MetricsRegistry,
  { resources, nowMs }: AccessMetricsOptions,
): SecretObserver {
  const labelNames = ["namespace", "name"];
  registerComputed(registry, {
    labelNames,
    name: "database_access_ready",
    help: "1 while a DatabaseAccess is Ready, else 0.",
    series: () => resources().map(({ key, status }) => [keyLabels(key), Number(isTrue(status.conditions, "Ready"))]),
  });
  registerComputed(registry, {
    labelNames,
    name: "database_access_password_age_seconds",
    help: "Time since the password was reset, or since the operator first knew it.",
    series: () =>
      seriesOfEach(resources(), ({ key, status: { password } }) => {
        const sinceMs = Date.parse(password?.rotatedTime ?? password?.knownSinceTime ?? "");
        return Number.isFinite(sinceMs) ? [[keyLabels(key), Math.max(0, nowMs() - sinceMs) / 1_000]] : [];
      }),
  });
  const writes = new Counter({
    name: "database_access_secret_writes_total",
    help: "Writes of Secrets with connection data, by cause.",
    labelNames: ["cause"],
    registers: [registry],
  });
  const resets = new Counter({
    name: "database_access_password_resets_total",
    help: "Passwords that the control plane reset because the operator asked for it.",
    registers: [registry],
  });
  // The series exist from the start: Prometheus cannot see the rise of a counter that first appears at 1.
  for (const cause of secretWriteCauses) {
    writes.inc({ cause }, 0);
  }
  return { secretWritten: (cause) => writes.inc({ cause }), passwordReset: () => resets.inc() };
}
