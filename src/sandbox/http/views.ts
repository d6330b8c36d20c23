import type { z } from "zod";
import type { EndpointChanges } from "../engine/endpoint-changes.ts";
import type { Mutation } from "../engine/endpoints.ts";
import type { EndpointExtra, OperationExtra, Profile } from "../engine/profile.ts";
import type { EndpointRecord, OperationRecord } from "../engine/records.ts";
import type { EndpointFields, endpointBody, mutationBody, operationBody } from "./wire.ts";

type EndpointBody = z.output<typeof endpointBody>;
type OperationBody = z.output<typeof operationBody>;

/** Epoch milliseconds → ISO 8601 UTC. */
export function timeText(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Whatever has just been made has been changed at the same time. */
function stamps({ createdMs, updatedMs }: { readonly createdMs: number; readonly updatedMs: number }) {
  const created = timeText(createdMs);
  return { created_at: created, updated_at: updatedMs === createdMs ? created : timeText(updatedMs) };
}

const optionalTime = (epochMs: number | undefined): string | undefined =>
  epochMs === undefined ? undefined : timeText(epochMs);

const endpointExtras: Readonly<Record<EndpointExtra, (endpoint: EndpointRecord) => unknown>> = {
  name: (endpoint) => endpoint.name,
  suspend_timeout_seconds: (endpoint) => endpoint.suspendTimeoutSeconds,
  provisioner: (endpoint) => endpoint.provisioner,
  creation_source: () => "console",
  suspended_at: (endpoint) => optionalTime(endpoint.suspendedMs),
  started_at: (endpoint) => optionalTime(endpoint.startedMs),
};

const operationExtras: Readonly<Record<OperationExtra, (operation: OperationRecord) => unknown>> = {
  total_duration_ms: (operation) => operation.updatedMs - operation.createdMs,
  error: (operation) => operation.error,
};

function extrasOf<E extends string, R>(
  names: readonly E[],
  table: Readonly<Record<E, (record: R) => unknown>>,
  record: R,
): Record<string, unknown> | undefined {
  if (names.length === 0) return undefined;
  return Object.fromEntries(
    names.map((name) => [name, table[name](record)]).filter(([, value]) => value !== undefined),
  );
}

/** An endpoint without `pending_state`, as deletes and lists of the seed show it. */
export function endpointView(endpoint: EndpointRecord, profile: Profile): EndpointBody {
  const lastActive = optionalTime(endpoint.lastActiveMs);
  return {
    id: endpoint.id,
    host: endpoint.host,
    proxy_host: endpoint.proxyHost,
    project_id: endpoint.projectId,
    branch_id: endpoint.branchId,
    region_id: endpoint.regionId,
    type: endpoint.type,
    autoscaling_limit_min_cu: endpoint.minUnits,
    autoscaling_limit_max_cu: endpoint.maxUnits,
    current_state: endpoint.state,
    settings: { pg_settings: endpoint.pgSettings },
    pooler_enabled: endpoint.poolerEnabled,
    pooler_mode: endpoint.poolerMode,
    disabled: endpoint.disabled,
    passwordless_access: endpoint.passwordlessAccess,
    ...(lastActive === undefined ? {} : { last_active: lastActive }),
    ...stamps(endpoint),
    ...extrasOf(profile.endpointExtras, endpointExtras, endpoint),
  };
}

/** An endpoint with `pending_state` while it is moving. */
export function movingEndpointView(endpoint: EndpointRecord, profile: Profile): EndpointBody {
  const view = endpointView(endpoint, profile);
  return endpoint.pendingState === undefined ? view : { ...view, pending_state: endpoint.pendingState };
}

/** The answer to a create, an update or a power call, which always names a pending state. */
export function mutationView({ endpoint, operations }: Mutation, profile: Profile): z.output<typeof mutationBody> {
  const pendingState = endpoint.pendingState ?? (endpoint.state === "active" ? "active" : "idle");
  return {
    endpoint: { ...endpointView(endpoint, profile), pending_state: pendingState },
    operations: operations.map((operation) => operationView(operation, profile)),
  };
}

/** An operation as the profile shows it. */
export function operationView(operation: OperationRecord, profile: Profile): OperationBody {
  return {
    id: operation.id,
    project_id: operation.projectId,
    branch_id: operation.branchId,
    ...(operation.endpointId === undefined ? {} : { endpoint_id: operation.endpointId }),
    action: operation.action,
    status: operation.status,
    failures_count: operation.failuresCount,
    ...stamps(operation),
    ...extrasOf(profile.operationExtras, operationExtras, operation),
  };
}

/** What a body asks for, in the engine's words. */
export function changesOf(fields: EndpointFields): EndpointChanges {
  return {
    branchId: fields.branch_id,
    minUnits: fields.autoscaling_limit_min_cu,
    maxUnits: fields.autoscaling_limit_max_cu,
    suspendTimeoutSeconds: fields.suspend_timeout_seconds,
    // Settings are replaced whole: settings without pg_settings leave none.
    pgSettings: fields.settings === undefined ? undefined : (fields.settings.pg_settings ?? {}),
    poolerEnabled: fields.pooler_enabled,
    poolerMode: fields.pooler_mode,
    disabled: fields.disabled,
    passwordlessAccess: fields.passwordless_access,
    provisioner: fields.provisioner,
    name: fields.name,
  };
}
