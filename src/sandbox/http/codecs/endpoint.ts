/** The schemas of endpoints in requests and answers, and the conversion of endpoint records into answers. */
import { z } from "zod";
import type { EndpointChanges } from "../../engine/endpoint-changes.ts";
import type { Mutation } from "../../engine/endpoints.ts";
import type { Profile } from "../../engine/profile.ts";
import { type EndpointRecord, longestSuspendSeconds, postgresSettings } from "../../engine/records.ts";
import { extras, optionalTime, stamps } from "./codec.ts";
import { operationViews } from "./operation.ts";

const settingsBody = z.object({ pg_settings: postgresSettings.optional() });

export function endpointView(record: EndpointRecord, { endpointExtras }: Profile) {
  const { id, host, projectId, branchId, regionId, type, minUnits, maxUnits, state, pgSettings, disabled } = record;
  const { suspendTimeoutSeconds, suspendedMs, startedMs, name, provisioner } = record;
  return {
    id,
    host,
    proxy_host: record.proxyHost,
    project_id: projectId,
    branch_id: branchId,
    region_id: regionId,
    type,
    autoscaling_limit_min_cu: minUnits,
    autoscaling_limit_max_cu: maxUnits,
    current_state: state,
    settings: { pg_settings: pgSettings },
    pooler_enabled: record.poolerEnabled,
    pooler_mode: record.poolerMode,
    disabled,
    passwordless_access: record.passwordlessAccess,
    last_active: optionalTime(record.lastActiveMs),
    ...stamps(record),
    ...extras(endpointExtras, {
      name,
      suspend_timeout_seconds: suspendTimeoutSeconds,
      provisioner,
      creation_source: "console",
      suspended_at: optionalTime(suspendedMs),
      started_at: optionalTime(startedMs),
    }),
  };
}

export function movingEndpointView(record: EndpointRecord, profile: Profile) {
  return { ...endpointView(record, profile), pending_state: record.pendingState };
}

/** `pending_state` is in the lists of `public`, and not in those of `seed`. */
export function listedEndpointView(record: EndpointRecord, profile: Profile) {
  return (profile.pendingStateInLists ? movingEndpointView : endpointView)(record, profile);
}

/** A changed endpoint always has `pending_state`, also if its compute is not changing. */
export function mutationView({ endpoint: changed, operations }: Mutation, profile: Profile) {
  const pendingState = changed.pendingState ?? (changed.state === "active" ? "active" : "idle");
  return {
    endpoint: movingEndpointView({ ...changed, pendingState }, profile),
    operations: operationViews(operations, profile),
  };
}

const nameField = { name: z.string().min(1).max(64).optional() };

/** Without names, zod drops the field as unknown. The compiler still sees it. */
const withoutName = {} as typeof nameField;

export function endpointFields(profile: Profile) {
  const shortest = profile.shortestSuspendSeconds;
  const isDelay = (seconds: number): boolean => seconds <= 0 || seconds >= shortest;
  // The engine checks which sizes exist: 400 for one that does not exist, 422 for one that is too large.
  const size = z
    .number()
    .positive()
    .meta({ enum: [...profile.sizes.scalable, ...profile.sizes.fixedOnly] });
  return z.object({
    ...(profile.endpointExtras.includes("name") ? nameField : withoutName),
    autoscaling_limit_min_cu: size.optional(),
    autoscaling_limit_max_cu: size.optional(),
    suspend_timeout_seconds: z
      .int()
      .min(-1)
      .max(longestSuspendSeconds)
      .refine(isDelay, `must be -1, 0 or at least ${shortest}`)
      .meta({ anyOf: [{ maximum: 0 }, { minimum: shortest }] })
      .optional(),
    settings: settingsBody.optional(),
    pooler_enabled: z.boolean().optional(),
    pooler_mode: z.literal("transaction").optional(),
    disabled: z.boolean().optional(),
    passwordless_access: z.boolean().optional(),
    provisioner: z.string().min(1).max(64).optional(),
  });
}

export function createBody(profile: Profile) {
  return z.object({
    endpoint: endpointFields(profile).extend({
      branch_id: z.string(),
      type: z.enum(["read_write", "read_only"]),
      region_id: z.string().optional(),
    }),
  });
}

export function updateBody(profile: Profile) {
  return z.object({ endpoint: endpointFields(profile).extend({ branch_id: z.string().optional() }) });
}

export type EndpointFields = z.output<ReturnType<typeof endpointFields>> & {
  readonly branch_id?: string | undefined;
};

/** `settings` replaces all former settings of PostgreSQL, even if it has no `pg_settings`. */
export function changesOf(fields: EndpointFields): EndpointChanges {
  return {
    branchId: fields.branch_id,
    minUnits: fields.autoscaling_limit_min_cu,
    maxUnits: fields.autoscaling_limit_max_cu,
    suspendTimeoutSeconds: fields.suspend_timeout_seconds,
    pgSettings: fields.settings && (fields.settings.pg_settings ?? {}),
    poolerEnabled: fields.pooler_enabled,
    poolerMode: fields.pooler_mode,
    disabled: fields.disabled,
    passwordlessAccess: fields.passwordless_access,
    provisioner: fields.provisioner,
    name: fields.name,
  };
}
