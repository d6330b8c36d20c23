import type { EndpointChanges, EndpointCreation, EndpointType } from "../domain/endpoint.ts";

const wireTypes: Readonly<Record<EndpointType, string>> = { ReadWrite: "read_write", ReadOnly: "read_only" };

/** The body of a create. @see docs/control-plane.md, "Create" */
export function creationToWire(creation: EndpointCreation): string {
  return JSON.stringify({
    endpoint: { ...changedFields(creation), type: wireTypes[creation.type], name: creation.name },
  });
}

/** The body of an update: only the fields that are to change. */
export function changesToWire(changes: EndpointChanges): string {
  return JSON.stringify({ endpoint: changedFields(changes) });
}

/** JSON.stringify leaves out undefined members. */
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
