import { z } from "zod";
import type { Profile } from "../engine/profile.ts";
import type { Action } from "../engine/records.ts";
import { longestSuspendSeconds } from "../engine/settings.ts";

/** The one shape of every error. @see docs/sandbox.md "Errors" */
export const errorBody = z.object({ request_id: z.string(), code: z.string(), message: z.string() });

/** All actions. @see seed part 1 */
export const operationActions = [
  "apply_config",
  "apply_storage_config",
  "check_availability",
  "create_branch",
  "create_timeline",
  "delete_tenant",
  "start_compute",
  "suspend_compute",
] as const satisfies readonly Action[];

const timestamp = z.string();

/** An operation: the seed's table, then what the public profile adds. */
export const operationBody = z.object({
  id: z.string(),
  project_id: z.string(),
  branch_id: z.string(),
  endpoint_id: z.string().optional(),
  action: z.string(),
  status: z.string(),
  failures_count: z.int(),
  created_at: timestamp,
  updated_at: timestamp,
  total_duration_ms: z.int().optional(),
  error: z.string().optional(),
});

/** A compute endpoint: the seed's table, then what the public profile adds. */
export const endpointBody = z.object({
  id: z.string(),
  host: z.string(),
  proxy_host: z.string(),
  project_id: z.string(),
  branch_id: z.string(),
  region_id: z.string(),
  type: z.string(),
  autoscaling_limit_min_cu: z.number(),
  autoscaling_limit_max_cu: z.number(),
  current_state: z.string(),
  pending_state: z.string().optional(),
  settings: z.object({ pg_settings: z.record(z.string(), z.string()) }),
  pooler_enabled: z.boolean(),
  pooler_mode: z.string(),
  disabled: z.boolean(),
  passwordless_access: z.boolean(),
  last_active: timestamp.optional(),
  created_at: timestamp,
  updated_at: timestamp,
  name: z.string().optional(),
  suspend_timeout_seconds: z.int().optional(),
  provisioner: z.string().optional(),
  creation_source: z.string().optional(),
  suspended_at: timestamp.optional(),
  started_at: timestamp.optional(),
});

/** What every write of an endpoint answers. */
export const mutationBody = z.object({ endpoint: endpointBody, operations: z.array(operationBody) });

/** Errors of a route, for its response schemas. */
export const errorResponses = { "4xx": errorBody } as const;

/** Path parameters. */
export const projectPath = z.object({ project_id: z.string() });
/** Path parameters. */
export const branchPath = projectPath.extend({ branch_id: z.string() });
/** Path parameters. */
export const endpointPath = projectPath.extend({ endpoint_id: z.string() });
/** Path parameters. */
export const operationPath = projectPath.extend({ operation_id: z.string() });
/** Path parameters. */
export const rolePath = branchPath.extend({ role_name: z.string() });
/** Path parameters. */
export const databasePath = branchPath.extend({ database_name: z.string() });

const nameField = { name: z.string().min(1).max(64).optional() };

/** To the compiler an optional field that is never there; to zod one more unknown field, which is dropped. */
const withoutName = {} as typeof nameField;

/**
 * The fields of an endpoint that create and update share. Unknown fields are ignored, and so is `name` by a profile
 * that does not know it.
 */
export function endpointFields(profile: Profile) {
  const shortest = profile.shortestSuspendSeconds;
  const isDelay = (seconds: number): boolean => seconds <= 0 || seconds >= shortest;
  // The engine tells a size that does not exist (400) from one that is too large (422), so zod is not to look at it.
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
    settings: z.object({ pg_settings: z.record(z.string(), z.string()).optional() }).optional(),
    pooler_enabled: z.boolean().optional(),
    pooler_mode: z.enum(["transaction", "session"]).optional(),
    disabled: z.boolean().optional(),
    passwordless_access: z.boolean().optional(),
    provisioner: z.string().min(1).max(64).optional(),
  });
}

/** Body of a create. */
export function createBody(profile: Profile) {
  return z.object({
    endpoint: endpointFields(profile).extend({
      branch_id: z.string(),
      type: z.enum(["read_write", "read_only"]),
      region_id: z.string().optional(),
    }),
  });
}

/** Body of an update. */
export function updateBody(profile: Profile) {
  return z.object({ endpoint: endpointFields(profile).extend({ branch_id: z.string().optional() }) });
}

/** What either body carries about the endpoint, once checked. */
export type EndpointFields = z.output<ReturnType<typeof endpointFields>> & {
  readonly branch_id?: string | undefined;
};
