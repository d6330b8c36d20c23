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
import type { Span, Usage } from "../../engine/usage.ts";
import { firstEndpointFields, newBranchBody } from "./branch.ts";
import { codecOf, fieldsOf, objectId, optionalTime, stampFields, timestamp, timeText, usageFields } from "./codec.ts";
import { operationBody } from "./operation.ts";

export const accountId = "user-sandbox";

/** A project with the values of its answer that are not stored: host names, usage and month. */
export interface ShownProject extends ProjectRecord {
  readonly proxyHost: string;
  readonly usage: Usage;
  /** The present month, for which usage is counted. */
  readonly month: Span;
}

const field = fieldsOf<ShownProject>();
const zero = field(z.int(), () => 0);

const defaultsBody = z.object({
  autoscaling_limit_min_cu: z.number().optional(),
  autoscaling_limit_max_cu: z.number().optional(),
  suspend_timeout_seconds: z.int().optional(),
  pg_settings: postgresSettings.optional(),
});

const project = codecOf<ShownProject>()({
  id: field(z.string(), ({ id }) => id),
  name: field(z.string(), ({ name }) => name),
  region_id: field(z.string(), ({ regionId }) => regionId),
  platform_id: field(z.string(), ({ regionId }) => regionId.split("-")[0] ?? ""),
  pg_version: field(z.int(), ({ pgVersion }) => pgVersion),
  proxy_host: field(z.string(), ({ proxyHost }) => proxyHost),
  provisioner: field(z.string(), ({ provisioner }) => provisioner ?? "k8s-neonvm"),
  store_passwords: field(z.boolean(), ({ storePasswords }) => storePasswords ?? true),
  default_endpoint_settings: field(defaultsBody.optional(), ({ endpointDefaults }) => shownDefaults(endpointDefaults)),
  settings: field(projectSettings.optional(), ({ settings }) => settings),
  org_id: field(z.string().optional(), ({ orgId }) => orgId),
  branch_logical_size_limit: zero,
  branch_logical_size_limit_bytes: zero,
  history_retention_seconds: field(z.int(), ({ historyRetentionSeconds }) => historyRetentionSeconds),
  data_storage_bytes_hour: zero,
  data_transfer_bytes: zero,
  written_data_bytes: zero,
  ...usageFields<ShownProject>(),
  active_time: field(z.int(), ({ usage }) => Math.floor(usage.activeMs / 1000)),
  creation_source: field(z.string(), () => "console"),
  owner_id: field(z.string(), () => accountId),
  consumption_period_start: field(timestamp, ({ month }) => timeText(month.fromMs)),
  consumption_period_end: field(timestamp, ({ month }) => timeText(month.toMs)),
  deleted_at: field(timestamp.optional(), ({ deletedMs }) => optionalTime(deletedMs)),
  recoverable_until: field(timestamp.optional(), (record) =>
    record.deletedMs === undefined ? undefined : timeText(recoverableUntilMs(record)),
  ),
  ...stampFields<ShownProject>(),
});

/** Shows the endpoint defaults of a project: the values for new endpoints whose request does not set them. */
function shownDefaults(defaults: EndpointDefaults | undefined): z.output<typeof defaultsBody> | undefined {
  if (defaults === undefined) return undefined;
  const { minUnits, maxUnits, suspendTimeoutSeconds, pgSettings } = defaults;
  const shown = {
    autoscaling_limit_min_cu: minUnits,
    autoscaling_limit_max_cu: maxUnits,
    suspend_timeout_seconds: suspendTimeoutSeconds,
    pg_settings: pgSettings,
  };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
}

/** Converts the endpoint defaults of a request into defaults for the engine. */
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

export const projectBody = project.body;

const view = project.viewer();

export function projectView(record: ProjectRecord, engine: Engine): z.output<typeof projectBody> {
  return view({ ...record, proxyHost: engine.proxyHost(record), ...engine.restores.projectFacts(record.id) });
}

/** A changed project, and the operations that the change started. */
export const projectMutationBody = z.object({ project: projectBody, operations: z.array(operationBody) });

export const newProjectBody = newBranchBody.extend({ project: projectBody });

/** Fields of a project that the sandbox would not honour. */
export const unplayedProjectFields = [
  ...[
    ...["quota", "allowed_ips", "maintenance_window", "block_public_connections", "block_vpc_connections"],
    ...["audit_log_level", "hipaa", "preload_libraries"],
  ].map((name) => `project.settings.${name}`),
  "project.default_endpoint_settings.pgbouncer_settings",
];

const historyRetention = z.int().min(0).max(2_592_000);

/** Returns the request fields for the endpoint defaults of a project. */
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
