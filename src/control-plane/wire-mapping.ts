/** Converts between the JSON of the control plane and the types of the domain. */
import type { Mutation } from "../domain/control-plane.ts";
import type { EndpointChanges, EndpointCreation, EndpointType, ObservedEndpoint } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { WireEndpoint, WireMutation, WireOperation } from "./wire.ts";

const typeByWireType: ReadonlyMap<string, string> = new Map([
  ["read_write", "ReadWrite"],
  ["read_only", "ReadOnly"],
]);

/** Converts an endpoint of the API into the domain type. An unknown type keeps the control plane's word. */
export function endpointFromWire(wire: WireEndpoint): ObservedEndpoint {
  return {
    id: wire.id,
    projectId: wire.project_id,
    branchId: wire.branch_id,
    type: typeByWireType.get(wire.type) ?? wire.type,
    host: wire.host,
    minUnits: wire.autoscaling_limit_min_cu,
    maxUnits: wire.autoscaling_limit_max_cu,
    state: wire.current_state,
    pendingState: presentText(wire.pending_state),
    pgSettings: settingsFromWire(wire.settings?.pg_settings ?? {}),
    poolerEnabled: wire.pooler_enabled,
    poolerMode: wire.pooler_mode,
    disabled: wire.disabled,
    suspendTimeoutSeconds: wire.suspend_timeout_seconds ?? undefined,
    name: presentText(wire.name),
    lastActiveTime: wire.last_active ?? undefined,
    createdTime: wire.created_at,
    updatedTime: wire.updated_at,
  };
}

/** Converts an operation of the API into the domain type. @param clean removes secrets from the error text */
export function operationFromWire(wire: WireOperation, clean: (text: string) => string): Operation {
  const error = presentText(wire.error);
  return {
    id: wire.id,
    projectId: wire.project_id,
    branchId: presentText(wire.branch_id),
    endpointId: presentText(wire.endpoint_id),
    action: wire.action,
    status: wire.status,
    failuresCount: wire.failures_count ?? 0,
    createdTime: wire.created_at,
    updatedTime: wire.updated_at,
    totalDurationMs: wire.total_duration_ms ?? undefined,
    error: error === undefined ? undefined : clean(error),
  };
}

/** Converts the answer of a write. An answer without operations means that the write started none. */
export function mutationFromWire(wire: WireMutation, clean: (text: string) => string): Mutation {
  return {
    endpoint: endpointFromWire(wire.endpoint),
    operations: (wire.operations ?? []).map((operation) => operationFromWire(operation, clean)),
  };
}

function settingsFromWire(settings: Readonly<Record<string, string | number | boolean | null>>) {
  const present = Object.entries(settings).filter(([, value]) => value !== null);
  return Object.fromEntries(present.map(([name, value]) => [name, String(value)]));
}

/** Returns a text, or `undefined` for `null` and "". */
export function presentText(text: string | null | undefined): string | undefined {
  return text === null || text === "" ? undefined : text;
}

const wireTypes: Readonly<Record<EndpointType, string>> = { ReadWrite: "read_write", ReadOnly: "read_only" };

/** Returns the body of a create. @see docs/control-plane.md, "Create" */
export function creationToWire(creation: EndpointCreation): string {
  return JSON.stringify({
    endpoint: { ...changedFields(creation), type: wireTypes[creation.type], name: creation.name },
  });
}

/** Returns the body of an update: only the fields to change. */
export function changesToWire(changes: EndpointChanges): string {
  return JSON.stringify({ endpoint: changedFields(changes) });
}

/** Returns the fields under the names of the API. JSON.stringify leaves out `undefined` members. */
function changedFields(changes: EndpointChanges): Readonly<Record<string, unknown>> {
  return {
    branch_id: changes.branchId,
    autoscaling_limit_min_cu: changes.minUnits,
    autoscaling_limit_max_cu: changes.maxUnits,
    suspend_timeout_seconds: changes.suspendTimeoutSeconds,
    pooler_enabled: changes.poolerEnabled,
    pooler_mode: changes.poolerMode,
    settings: changes.pgSettings === undefined ? undefined : { pg_settings: changes.pgSettings },
    disabled: changes.disabled,
  };
}
