/** Shows endpoints and operations as each profile does. */
import type { ObservedEndpoint, Operation } from "../ports.ts";
import type { ControlPlaneCalendar } from "./calendar.ts";
import type { EndpointRecord, OperationRecord, Profile } from "./engine.ts";

/** The kind of answer that shows an endpoint. Each profile shows the pending state in other kinds of answers. */
export type EndpointPlace = "List" | "Single" | "Mutation" | "Deletion";

const types = { read_write: "ReadWrite", read_only: "ReadOnly" } as const;

/** Returns an endpoint as a client sees it. */
export function endpointView(
  record: EndpointRecord,
  place: EndpointPlace,
  { profile, calendar }: { readonly profile: Profile; readonly calendar: ControlPlaneCalendar },
): ObservedEndpoint {
  const shows = (extra: Profile["endpointExtras"][number]) => profile.endpointExtras.includes(extra);
  return {
    id: record.id,
    projectId: record.projectId,
    branchId: record.branchId,
    type: types[record.type],
    host: record.host,
    minUnits: record.minUnits,
    maxUnits: record.maxUnits,
    state: record.state,
    pendingState: pendingStateOf(record, place, profile),
    pgSettings: record.pgSettings,
    poolerEnabled: record.poolerEnabled,
    poolerMode: record.poolerMode,
    disabled: record.disabled,
    suspendTimeoutSeconds: shows("suspend_timeout_seconds") ? record.suspendTimeoutSeconds : undefined,
    name: shows("name") && record.name !== "" ? record.name : undefined,
    lastActiveTime: record.lastActiveMs === undefined ? undefined : calendar.text(record.lastActiveMs),
    createdTime: calendar.text(record.createdMs),
    updatedTime: calendar.text(record.updatedMs),
  };
}

function pendingStateOf(record: EndpointRecord, place: EndpointPlace, profile: Profile): string | undefined {
  switch (place) {
    case "List":
      return profile.pendingStateInLists ? record.pendingState : undefined;
    case "Single":
      return record.pendingState;
    case "Mutation":
      return record.pendingState ?? (record.state === "active" ? "active" : "idle");
    case "Deletion":
      return undefined;
  }
}

/** Returns an operation as a client sees it. */
export function operationView(
  record: OperationRecord,
  { profile, calendar }: { readonly profile: Profile; readonly calendar: ControlPlaneCalendar },
): Operation {
  const shows = (extra: Profile["operationExtras"][number]) => profile.operationExtras.includes(extra);
  return {
    id: record.id,
    projectId: record.projectId,
    branchId: record.branchId,
    endpointId: record.endpointId,
    action: record.action,
    status: record.status,
    failuresCount: record.failuresCount,
    createdTime: calendar.text(record.createdMs),
    updatedTime: calendar.text(record.updatedMs),
    totalDurationMs: shows("total_duration_ms") ? record.updatedMs - record.createdMs : undefined,
    error: shows("error") ? record.error : undefined,
  };
}
