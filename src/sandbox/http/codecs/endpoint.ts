/** The schemas of endpoints in requests and answers, and the conversion of endpoint records into answers. */
import { z } from "zod";
import type { EndpointChanges } from "../../engine/endpoint-changes.ts";
import type { Mutation } from "../../engine/endpoints.ts";
import { endpointExtras, type Profile, profiles } from "../../engine/profile.ts";
import { type EndpointRecord, longestSuspendSeconds, postgresSettings } from "../../engine/records.ts";
import { codecOf, fieldsOf, optionalTime, stampFields, timestamp } from "./codec.ts";
import { operationBody, operationView } from "./operation.ts";

const field = fieldsOf<EndpointRecord>();

const settingsBody = z.object({ pg_settings: postgresSettings.optional() });

const endpoint = codecOf<EndpointRecord>()({
  id: field(z.string(), ({ id }) => id),
  host: field(z.string(), ({ host }) => host),
  proxy_host: field(z.string(), ({ proxyHost }) => proxyHost),
  project_id: field(z.string(), ({ projectId }) => projectId),
  branch_id: field(z.string(), ({ branchId }) => branchId),
  region_id: field(z.string(), ({ regionId }) => regionId),
  type: field(z.string(), ({ type }) => type),
  autoscaling_limit_min_cu: field(z.number(), ({ minUnits }) => minUnits),
  autoscaling_limit_max_cu: field(z.number(), ({ maxUnits }) => maxUnits),
  current_state: field(z.string(), ({ state }) => state),
  pending_state: field(z.string().optional(), ({ pendingState }) => pendingState),
  settings: field(settingsBody.required(), ({ pgSettings }) => ({ pg_settings: pgSettings })),
  pooler_enabled: field(z.boolean(), ({ poolerEnabled }) => poolerEnabled),
  pooler_mode: field(z.string(), ({ poolerMode }) => poolerMode),
  disabled: field(z.boolean(), ({ disabled }) => disabled),
  passwordless_access: field(z.boolean(), ({ passwordlessAccess }) => passwordlessAccess),
  last_active: field(timestamp.optional(), ({ lastActiveMs }) => optionalTime(lastActiveMs)),
  ...stampFields<EndpointRecord>(),
  name: field(z.string().optional(), ({ name }) => name),
  suspend_timeout_seconds: field(z.int().optional(), ({ suspendTimeoutSeconds }) => suspendTimeoutSeconds),
  provisioner: field(z.string().optional(), ({ provisioner }) => provisioner),
  creation_source: field(z.string().optional(), () => "console"),
  suspended_at: field(timestamp.optional(), ({ suspendedMs }) => optionalTime(suspendedMs)),
  started_at: field(timestamp.optional(), ({ startedMs }) => optionalTime(startedMs)),
});

export const endpointBody = endpoint.body;
type EndpointBody = z.output<typeof endpointBody>;

export const mutationBody = z.object({ endpoint: endpointBody, operations: z.array(operationBody) });

const moving = {
  seed: endpoint.viewer(hiddenIn(profiles.seed)),
  public: endpoint.viewer(hiddenIn(profiles.public)),
};

const still = {
  seed: endpoint.viewer([...hiddenIn(profiles.seed), "pending_state"]),
  public: endpoint.viewer([...hiddenIn(profiles.public), "pending_state"]),
};

function hiddenIn(profile: Profile): readonly string[] {
  return endpointExtras.filter((name) => !profile.endpointExtras.includes(name));
}

/** Shows an endpoint without `pending_state`, as in the answer to a DELETE. */
export function endpointView(record: EndpointRecord, { name }: Profile): EndpointBody {
  return still[name](record);
}

/** Shows an endpoint, with `pending_state` if its compute is changing its state. */
export function movingEndpointView(record: EndpointRecord, { name }: Profile): EndpointBody {
  return moving[name](record);
}

/** Shows an endpoint as in the profile's lists: with `pending_state` in `public`, without it in `seed`. */
export function listedEndpointView(record: EndpointRecord, profile: Profile): EndpointBody {
  return (profile.pendingStateInLists ? moving : still)[profile.name](record);
}

/**
 * Shows the answer to a create, an update, a start, a suspend or a restart. It always has `pending_state`. If the compute
 * is not changing, `pending_state` is `active` for an active compute, and else `idle`.
 */
export function mutationView({ endpoint: changed, operations }: Mutation, profile: Profile) {
  const pendingState = changed.pendingState ?? (changed.state === "active" ? "active" : "idle");
  return {
    endpoint: movingEndpointView({ ...changed, pendingState }, profile),
    operations: operations.map((operation) => operationView(operation, profile)),
  };
}

const nameField = { name: z.string().min(1).max(64).optional() };

/**
 * Stands for `nameField` in a profile without endpoint names. The compiler still sees an optional field `name`; zod
 * drops it as unknown.
 */
const withoutName = {} as typeof nameField;

/** Returns the fields that creating and changing an endpoint have in common. */
export function endpointFields(profile: Profile) {
  const shortest = profile.shortestSuspendSeconds;
  const isDelay = (seconds: number): boolean => seconds <= 0 || seconds >= shortest;
  // zod does not check which sizes exist. The engine does: 400 for a size that does not exist, 422 for one that is too
  // large.
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

/** Settings of an endpoint that the sandbox would not honour. */
const unplayedSettings = ["pgbouncer_settings", "preload_libraries"];

/** The same settings at a place in a request body. */
export const unplayedSettingsAt = (place: string): readonly string[] =>
  unplayedSettings.map((name) => `${place}.${name}`);

/** The endpoint's fields of a request body, after the checks. */
export type EndpointFields = z.output<ReturnType<typeof endpointFields>> & {
  readonly branch_id?: string | undefined;
};

/**
 * Converts the fields of a request into changes for the engine. `settings` replaces all former settings of PostgreSQL,
 * even if it has no `pg_settings`.
 */
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
