/** Converts between the JSON of the control plane and the types of the operator. */
import type { EndpointChanges, EndpointCreation, Mutation, ObservedEndpoint, Operation } from "../ports.ts";

const wireTypes: Readonly<Record<string, string>> = { ReadWrite: "read_write", ReadOnly: "read_only" };

export function endpointToWire(endpoint: ObservedEndpoint): object {
  return {
    id: endpoint.id,
    project_id: endpoint.projectId,
    branch_id: endpoint.branchId,
    type: wireTypes[endpoint.type],
    host: endpoint.host,
    autoscaling_limit_min_cu: endpoint.minUnits,
    autoscaling_limit_max_cu: endpoint.maxUnits,
    current_state: endpoint.state,
    pending_state: endpoint.pendingState,
    settings: { pg_settings: endpoint.pgSettings },
    pooler_enabled: endpoint.poolerEnabled,
    pooler_mode: endpoint.poolerMode,
    disabled: endpoint.disabled,
    suspend_timeout_seconds: endpoint.suspendTimeoutSeconds,
    name: endpoint.name,
    last_active: endpoint.lastActiveTime,
    created_at: endpoint.createdTime,
    updated_at: endpoint.updatedTime,
  };
}

export function operationToWire(operation: Operation): object {
  return {
    id: operation.id,
    project_id: operation.projectId,
    branch_id: operation.branchId,
    endpoint_id: operation.endpointId,
    action: operation.action,
    status: operation.status,
    failures_count: operation.failuresCount,
    created_at: operation.createdTime,
    updated_at: operation.updatedTime,
    total_duration_ms: operation.totalDurationMs,
    error: operation.error,
  };
}

export function mutationToWire({ endpoint, operations }: Mutation): object {
  return { endpoint: endpointToWire(endpoint), operations: operations.map(operationToWire) };
}

/** The body of an update. A field that it does not have is absent, as in the operator's own type. */
export function changesFromWire(body: unknown): EndpointChanges {
  const { endpoint } = body as { readonly endpoint: Readonly<Record<string, unknown>> };
  const { pg_settings: pgSettings } = (endpoint.settings ?? {}) as { readonly pg_settings?: unknown };
  const all = {
    branchId: endpoint.branch_id,
    minUnits: endpoint.autoscaling_limit_min_cu,
    maxUnits: endpoint.autoscaling_limit_max_cu,
    suspendTimeoutSeconds: endpoint.suspend_timeout_seconds,
    poolerEnabled: endpoint.pooler_enabled,
    poolerMode: endpoint.pooler_mode,
    pgSettings,
    disabled: endpoint.disabled,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function creationFromWire(body: unknown): EndpointCreation {
  const { endpoint } = body as { readonly endpoint: { readonly type: string; readonly name: string } };
  const type = endpoint.type === "read_write" ? "ReadWrite" : "ReadOnly";
  return { ...changesFromWire(body), type, name: endpoint.name } as EndpointCreation;
}
