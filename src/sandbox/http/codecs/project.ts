/** The schemas of projects in requests and answers, and the conversion of project records into answers. */
import { z } from "zod";
import type { Engine } from "../../engine/engine.ts";
import type { Profile } from "../../engine/profile.ts";
import {
  type EndpointDefaults,
  nameText,
  newDatabaseName,
  newRoleName,
  type ProjectRecord,
  postgresSettings,
  projectSettings,
} from "../../engine/records.ts";
import { recoverableUntilMs } from "../../engine/recovery.ts";
import { firstEndpointFields } from "./branch.ts";
import { objectId, optionalTime, stamps, timeText, usageView } from "./codec.ts";

export const accountId = "user-sandbox";

const defaultsBody = z.object({
  autoscaling_limit_min_cu: z.number().optional(),
  autoscaling_limit_max_cu: z.number().optional(),
  suspend_timeout_seconds: z.int().optional(),
  pg_settings: postgresSettings.optional(),
});

function shownDefaults({ minUnits, maxUnits, suspendTimeoutSeconds, pgSettings }: EndpointDefaults) {
  return {
    autoscaling_limit_min_cu: minUnits,
    autoscaling_limit_max_cu: maxUnits,
    suspend_timeout_seconds: suspendTimeoutSeconds,
    pg_settings: pgSettings,
  };
}

export function endpointDefaultsOf(
  given: z.output<ReturnType<typeof endpointDefaults>> | undefined,
): EndpointDefaults | undefined {
  if (given === undefined) return undefined;
  const defaults = {
    minUnits: given.autoscaling_limit_min_cu,
    maxUnits: given.autoscaling_limit_max_cu,
    suspendTimeoutSeconds: given.suspend_timeout_seconds,
    pgSettings: given.pg_settings,
  };
  const known = Object.entries(defaults).filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

export function projectView(record: ProjectRecord, engine: Engine) {
  const { usage, month } = engine.restores.projectFacts(record.id);
  const { id, name, regionId, pgVersion, settings, historyRetentionSeconds, deletedMs } = record;
  return {
    id,
    name,
    region_id: regionId,
    platform_id: regionId.split("-")[0],
    pg_version: pgVersion,
    settings,
    proxy_host: engine.proxyHost(record),
    provisioner: record.provisioner ?? "k8s-neonvm",
    store_passwords: record.storePasswords ?? true,
    default_endpoint_settings: record.endpointDefaults && shownDefaults(record.endpointDefaults),
    org_id: record.orgId,
    branch_logical_size_limit: 0,
    branch_logical_size_limit_bytes: 0,
    history_retention_seconds: historyRetentionSeconds,
    data_storage_bytes_hour: 0,
    data_transfer_bytes: 0,
    written_data_bytes: 0,
    ...usageView(usage),
    active_time: Math.floor(usage.activeMs / 1000),
    creation_source: "console",
    owner_id: accountId,
    consumption_period_start: timeText(month.fromMs),
    consumption_period_end: timeText(month.toMs),
    deleted_at: optionalTime(deletedMs),
    recoverable_until: deletedMs === undefined ? undefined : timeText(recoverableUntilMs(record)),
    ...stamps(record),
  };
}

const historyRetention = z.int().min(0).max(2_592_000);

function endpointDefaults(profile: Profile) {
  const { pg_settings } = defaultsBody.shape;
  return firstEndpointFields(profile).omit({ settings: true, provisioner: true }).extend({ pg_settings });
}

export function projectCreateBody(profile: Profile) {
  const sizes = endpointDefaults(profile).pick({ autoscaling_limit_min_cu: true, autoscaling_limit_max_cu: true });
  return z.object({
    project: z.object({
      ...sizes.shape,
      name: nameText(64).optional(),
      region_id: z.string().max(64).optional(),
      pg_version: z.int().min(14).optional(),
      history_retention_seconds: historyRetention.default(86_400),
      default_endpoint_settings: endpointDefaults(profile).optional(),
      settings: projectSettings.optional(),
      provisioner: z.string().min(1).max(64).optional(),
      store_passwords: z.boolean().optional(),
      org_id: objectId.optional(),
      branch: z
        .object({
          name: nameText(256).optional(),
          role_name: newRoleName.optional(),
          database_name: newDatabaseName.optional(),
          annotations: z.record(z.string(), z.string()).optional(),
        })
        .optional(),
    }),
  });
}

export function projectUpdateBody(profile: Profile) {
  return z.object({
    project: z.object({
      name: nameText(64).optional(),
      history_retention_seconds: historyRetention.optional(),
      default_endpoint_settings: endpointDefaults(profile).optional(),
      settings: projectSettings.optional(),
    }),
  });
}
