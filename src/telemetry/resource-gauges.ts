import { Gauge, type MetricValue } from "prom-client";
import { isInFlight } from "../domain/operation.ts";
import type { OperationsAge } from "../domain/operation-metrics.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import { type ComputeEndpoint, projectIdOf, workKeyOf } from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import type { StatusOperation } from "../resource/status-schema.ts";
import type { BoundedLabel, MetricsRegistry } from "./metrics-registry.ts";

/** The sources of the gauges about resources. */
export interface ResourceGaugesOptions {
  /** Returns the resources of the cache; called at each scrape. */
  readonly resources: () => readonly ComputeEndpoint[];
  /** The control plane's clock, epoch milliseconds; `undefined`: it has not shown its clock in this project. @param key of the project */
  readonly serviceNowMs: (key: string) => number | undefined;
  /** How old the operator's knowledge of each project's operations is; called at each scrape. */
  readonly operationsAges: () => readonly OperationsAge[];
  readonly boundAction: BoundedLabel;
  readonly boundState: BoundedLabel;
}

type Labels = Readonly<Record<string, string>>;
type Series = readonly [labels: Labels, value: number];

/** One gauge, and how its series for one resource are computed. */
interface ResourceGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly seriesOf: (resource: ComputeEndpoint) => readonly Series[];
}

/**
 * Registers the gauges about resources. Each scrape computes them from the cache, so a deleted resource leaves no
 * series.
 */
export function registerResourceGauges(registry: MetricsRegistry, options: ResourceGaugesOptions): void {
  const gauges = [conditionGauge(), infoGauge(), stateGauge(options), failedGauge(options), oldestGauge(options)];
  for (const gauge of gauges) {
    new ComputedGauge(registry, gauge, options.resources);
  }
  registerInFlight(registry, options);
  registerOperationsAge(registry, options);
}

/**
 * A gauge that stores nothing, because prom-client would hash and copy thousands of series at each scrape. It does not
 * check that labels are declared, or that a series comes twice.
 */
class ComputedGauge extends Gauge {
  readonly #seriesOf: ResourceGauge["seriesOf"];
  readonly #resources: ResourceGaugesOptions["resources"];

  constructor(registry: MetricsRegistry, gauge: ResourceGauge, resources: ResourceGaugesOptions["resources"]) {
    const { name, help, labelNames } = gauge;
    super({ name, help, labelNames, registers: [registry] });
    this.#seriesOf = gauge.seriesOf;
    this.#resources = resources;
  }

  override async get() {
    const values: MetricValue<string>[] = [];
    for (const resource of this.#resources()) {
      for (const [labels, value] of this.#seriesOf(resource)) {
        values.push({ labels, value });
      }
    }
    return { ...(await super.get()), values };
  }
}

/**
 * Registers the number of running operations over all resources. An action that was seen once stays at 0, so that a
 * graph shows no gap.
 */
function registerInFlight(registry: MetricsRegistry, options: ResourceGaugesOptions): void {
  const actions = new Set<string>();
  const gauge: Gauge = new Gauge({
    name: "compute_endpoint_operations_in_flight",
    help: "Operations that the control plane is carrying out now.",
    labelNames: ["action"],
    registers: [registry],
    collect: () => {
      gauge.reset();
      const inFlight = options
        .resources()
        .flatMap(inFlightOf)
        .map((operation) => options.boundAction(operation.action));
      for (const action of inFlight) {
        actions.add(action);
      }
      for (const action of actions) {
        gauge.set({ action }, 0);
      }
      for (const action of inFlight) {
        gauge.inc({ action });
      }
    },
  });
}

/** Registers the age of the operations of each project. A project without resources has no series. */
function registerOperationsAge(registry: MetricsRegistry, { operationsAges }: ResourceGaugesOptions): void {
  const gauge: Gauge = new Gauge({
    name: "operations_age_seconds",
    help: "Time since the operator last read the operations of a project completely. It grows with the number of projects.",
    labelNames: ["control_plane", "project_id"],
    registers: [registry],
    collect: () => {
      gauge.reset();
      for (const { controlPlane, projectId, ageMs } of operationsAges()) {
        gauge.set({ control_plane: controlPlane, project_id: projectId }, ageMs / 1000);
      }
    },
  });
}

function conditionGauge(): ResourceGauge {
  return {
    name: "compute_endpoint_condition",
    help: "1 for each condition of a resource; the status of the condition is a label.",
    labelNames: ["namespace", "name", "type", "status"],
    seriesOf: ({ key, status }) =>
      (status.conditions ?? []).map((condition) => [
        { ...keyLabels(key), type: condition.type, status: condition.status },
        1,
      ]),
  };
}

function infoGauge(): ResourceGauge {
  return {
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
}

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
