import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import { largestLagMs, totalsAt } from "../operations/usage.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import { group, kind, version } from "../resource/names.ts";
import type { ComputeEndpointSpec, ControlPlaneRef } from "../resource/spec-schema.ts";
import type { StatusOperation } from "../resource/status-schema.ts";

/** @param fields of each column: the member of a row that it shows */
function tableOf<Row>(header: readonly string[], fields: readonly (keyof Row)[], rows: readonly Row[]): string {
  if (rows.length === 0) return "None found.\n";
  const table = [header, ...rows.map((row) => fields.map((field) => String(row[field] ?? "")))];
  const widths = header.map((_, at) => Math.max(...table.map((cells) => cells[at]?.length ?? 0)));
  const lines = table.map((cells) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("   "));
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
}

/** @param isEverywhere the operations are of resources in several namespaces. @default false */
export function operationsText(operations: readonly (ResourceKey & StatusOperation)[], isEverywhere = false): string {
  const rows = operations.map((each) => {
    const { durationMilliseconds: ms } = each;
    return { ...each, took: ms === undefined ? "" : `${(ms / 1_000).toFixed(1)} s` };
  });
  const header = ["NAMESPACE", "NAME", "CREATED", "ACTION", "STATUS", "TOOK", "CAUSE", "OPERATION", "ERROR"];
  const last = ["took", "cause", "id", "error"] as const;
  const fields = ["namespace", "name", "createdTime", "action", "status", ...last] as const;
  const first = isEverywhere ? 0 : 1;
  return tableOf(header.slice(first), fields.slice(first), rows);
}

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
    resource: keyText(key),
    starts: totals.starts,
    sinceTime: totals.sinceTime,
    activeHours: hours(totals.activeSeconds),
    branchUnitHours: branchSeconds && hours(branchSeconds),
    minUnitHours: hours(totals.minUnitSeconds),
    maxUnitHours: hours(totals.maxUnitSeconds),
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

export function usageText(rows: readonly Used[]): string {
  const header = ["RESOURCE", "ACTIVE-HOURS", "UNIT-HOURS-MIN", "UNIT-HOURS-MAX", "STARTS"];
  const fields = ["resource", ...sums, "branchUnitHours", "sinceTime"] as const;
  return tableOf([...header, "BRANCH-THIS-MONTH", "SINCE"], fields, rows);
}

/** A branch without an owner is a row without an endpoint. */
export function endpointsText(endpoints: readonly Partial<ObservedEndpoint>[]): string {
  const header = ["PROJECT", "ENDPOINT", "TYPE", "BRANCH", "STATE"];
  return tableOf(header, ["projectId", "id", "type", "branchId", "state"], endpoints);
}

/**
 * The resource changes nothing, because spec has the present values, and the endpoint stays after it.
 * @param how without `controlPlaneRef`: the control plane of the settings. With `isObserved` the operator only reads.
 */
export function adoptionManifest(
  endpoint: ObservedEndpoint,
  namespace: string,
  how: { readonly controlPlaneRef: ControlPlaneRef | undefined; readonly isObserved: boolean },
): object {
  const { id, projectId, branchId, type, minUnits, maxUnits, suspendTimeoutSeconds } = endpoint;
  const suspend = suspendTimeoutSeconds === undefined ? undefined : suspendOf(suspendTimeoutSeconds);
  const present = { projectId, branchId, type, compute: { minUnits, maxUnits }, ...(suspend && { suspend }) };
  const adoption = { policy: "AdoptOnly", endpointId: id };
  const adopting = how.isObserved ? { management: "Observe", adoption } : { adoption, deletionPolicy: "Retain" };
  const spec = { ...present, ...(how.controlPlaneRef && { controlPlaneRef: how.controlPlaneRef }), ...adopting };
  return { apiVersion: `${group}/${version}`, kind, metadata: { name: id, namespace }, spec };
}

/** @param seconds as the control plane shows them: 0 is its default, -1 is never */
function suspendOf(seconds: number): NonNullable<ComputeEndpointSpec["suspend"]> {
  if (seconds === 0) return { mode: "ServiceDefault" };
  return seconds < 0 ? { mode: "Never" } : { mode: "After", afterSeconds: seconds };
}
