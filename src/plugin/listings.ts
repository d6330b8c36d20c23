import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import { largestLagMs, totalsAt } from "../operations/usage.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import type { ControlPlaneRef } from "../resource/control-plane-resource.ts";
import { group, kind, version } from "../resource/names.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { StatusOperation } from "../resource/status-schema.ts";

/** Each column: its header, and the cell of a row. */
type Columns<Row> = Readonly<Record<string, (row: Row) => string | number | undefined>>;

export function tableOf<Row>(columns: Columns<Row>, rows: readonly Row[]): string {
  const cells = rows.map((row) => Object.values(columns).map((cellOf) => String(cellOf(row) ?? "")));
  const table = [Object.keys(columns), ...cells];
  const widths = Object.keys(columns).map((_, at) => Math.max(...table.map((row) => row[at]?.length ?? 0)));
  const lines = table.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("   "));
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
}

const ofOneNamespace: Columns<ResourceKey & StatusOperation> = {
  NAME: ({ name }) => name,
  CREATED: ({ createdTime }) => createdTime,
  ACTION: ({ action }) => action,
  STATUS: ({ status }) => status,
  TOOK: ({ durationMilliseconds: ms }) => (ms === undefined ? undefined : `${(ms / 1_000).toFixed(1)} s`),
  CAUSE: ({ cause }) => cause,
  OPERATION: ({ id }) => id,
  ERROR: ({ error }) => error,
};

export const operationColumns = {
  ofOneNamespace,
  ofAll: { NAMESPACE: ({ namespace }: ResourceKey) => namespace, ...ofOneNamespace },
};

const sums = ["activeHours", "minUnitHours", "maxUnitHours", "starts"] as const;

type Used = Readonly<Record<(typeof sums)[number], number>> & {
  readonly resource: string;
  readonly sinceTime?: string;
  readonly branchUnitHours?: number | undefined;
};

const hundredths = (value: number) => Math.round(value * 100) / 100;

/** @param branchSeconds unit-seconds of its branch; `undefined`: the control plane was not asked, or shows none */
export function usageOf({ key, status }: ComputeEndpoint, nowMs: number, branchSeconds?: number): Used | undefined {
  const { usage, compute } = status;
  if (usage === undefined || compute === undefined) return undefined;
  // Only of a Ready resource does the operator know that the compute still runs.
  const isKnown = isTrue(status.conditions, "Ready");
  const totals = totalsAt(usage, compute, isKnown ? nowMs - largestLagMs : Date.parse(usage.asOfTime));
  const hours = (seconds: number) => hundredths(seconds / 3_600);
  return {
    ...{ resource: keyText(key), starts: totals.starts, sinceTime: totals.sinceTime },
    ...{ activeHours: hours(totals.activeSeconds), branchUnitHours: branchSeconds && hours(branchSeconds) },
    ...{ minUnitHours: hours(totals.minUnitSeconds), maxUnitHours: hours(totals.maxUnitSeconds) },
  };
}

/** Adds a total for each namespace, and one for all if there are several. */
export function withTotals(rows: readonly Used[]): readonly Used[] {
  const total = (resource: string, of: readonly Used[]) => {
    const values = sums.map((field) => [field, hundredths(of.reduce((sum, each) => sum + each[field], 0))]);
    return { resource, ...Object.fromEntries(values) } as Used;
  };
  const groups = Map.groupBy(rows, ({ resource }) => resource.split("/")[0] ?? "");
  const each = [...groups].flatMap(([namespace, of]) => [...of, total(`${namespace}/ total`, of)]);
  return groups.size > 1 ? [...each, total("total", rows)] : each;
}

export const usageColumns: Columns<Used> = {
  RESOURCE: ({ resource }) => resource,
  "ACTIVE-HOURS": ({ activeHours }) => activeHours,
  "UNIT-HOURS-MIN": ({ minUnitHours }) => minUnitHours,
  "UNIT-HOURS-MAX": ({ maxUnitHours }) => maxUnitHours,
  STARTS: ({ starts }) => starts,
  "BRANCH-THIS-MONTH": ({ branchUnitHours }) => branchUnitHours,
  SINCE: ({ sinceTime }) => sinceTime,
};

/** `serviceUrl`: the control plane that listed the endpoints. Another one may have an endpoint of the same id. */
export function unownedEndpoints(
  endpoints: readonly ObservedEndpoint[],
  resources: readonly ComputeEndpoint[],
  serviceUrl: string,
): readonly ObservedEndpoint[] {
  const here = resources.filter(({ status }) => (status.ownership?.serviceUrl ?? serviceUrl) === serviceUrl);
  const owned = new Set(here.flatMap(({ claimedId }) => claimedId ?? []));
  return endpoints.filter(({ id }) => !owned.has(id));
}

export const endpointColumns: Columns<ObservedEndpoint> = {
  PROJECT: ({ projectId }) => projectId,
  ENDPOINT: ({ id }) => id,
  TYPE: ({ type }) => type,
  BRANCH: ({ branchId }) => branchId,
  STATE: ({ state }) => state,
};

/**
 * The resource changes nothing, because spec has the present values, and the endpoint stays after it.
 * @param controlPlaneRef `undefined`: the control plane of the settings. With `isObserved` the operator only reads.
 */
export function adoptionManifest(
  endpoint: ObservedEndpoint,
  namespace: string,
  {
    controlPlaneRef,
    isObserved,
  }: { readonly controlPlaneRef: ControlPlaneRef | undefined; readonly isObserved: boolean },
): object {
  const { id, projectId, branchId, type, minUnits, maxUnits, suspendTimeoutSeconds } = endpoint;
  const suspend = suspendTimeoutSeconds === undefined ? undefined : suspendOf(suspendTimeoutSeconds);
  const present = { projectId, branchId, type, compute: { minUnits, maxUnits }, ...(suspend && { suspend }) };
  const adoption = { policy: "AdoptOnly", endpointId: id };
  const adopting = isObserved ? { management: "Observe", adoption } : { adoption, deletionPolicy: "Retain" };
  const spec = { ...present, ...(controlPlaneRef && { controlPlaneRef }), ...adopting };
  return { apiVersion: `${group}/${version}`, kind, metadata: { name: id, namespace }, spec };
}

/** @param seconds as the control plane shows them: 0 is its default, -1 is never */
function suspendOf(seconds: number): NonNullable<ComputeEndpointSpec["suspend"]> {
  if (seconds === 0) return { mode: "ServiceDefault" };
  return seconds < 0 ? { mode: "Never" } : { mode: "After", afterSeconds: seconds };
}
