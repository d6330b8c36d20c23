import { z } from "zod";
import type { Profile } from "../engine/profile.ts";
import { defaultPgVersion } from "../engine/settings.ts";
import { nameText } from "../name-text.ts";
import { endpointBody, endpointFields, operationBody } from "./wire.ts";

const timestamp = z.string();
const operations = z.array(operationBody);

/** A project. The seed shows its identifier only; the rest is what public clients read. */
export const projectBody = z.object({
  id: z.string(),
  name: z.string(),
  region_id: z.string(),
  platform_id: z.string(),
  pg_version: z.int(),
  proxy_host: z.string(),
  provisioner: z.string(),
  store_passwords: z.boolean(),
  branch_logical_size_limit: z.int(),
  branch_logical_size_limit_bytes: z.int(),
  history_retention_seconds: z.int(),
  data_storage_bytes_hour: z.int(),
  data_transfer_bytes: z.int(),
  written_data_bytes: z.int(),
  compute_time_seconds: z.int(),
  active_time_seconds: z.int(),
  active_time: z.int(),
  cpu_used_sec: z.int(),
  creation_source: z.string(),
  owner_id: z.string(),
  consumption_period_start: timestamp,
  consumption_period_end: timestamp,
  created_at: timestamp,
  updated_at: timestamp,
});

/** A branch. The seed shows its identifier only; the rest is what public clients read. */
export const branchBody = z.object({
  id: z.string(),
  project_id: z.string(),
  parent_id: z.string().optional(),
  name: z.string(),
  current_state: z.string(),
  pending_state: z.string().optional(),
  state_changed_at: timestamp,
  creation_source: z.string(),
  primary: z.boolean(),
  default: z.boolean(),
  protected: z.boolean(),
  logical_size: z.int(),
  cpu_used_sec: z.int(),
  compute_time_seconds: z.int(),
  active_time_seconds: z.int(),
  written_data_bytes: z.int(),
  data_transfer_bytes: z.int(),
  created_at: timestamp,
  updated_at: timestamp,
});

/** A database user. `password` only where it has just been made. */
export const roleBody = z.object({
  branch_id: z.string(),
  name: z.string(),
  password: z.string().optional(),
  protected: z.boolean(),
  created_at: timestamp,
  updated_at: timestamp,
});

/** A database. */
export const databaseBody = z.object({
  id: z.int(),
  branch_id: z.string(),
  name: z.string(),
  owner_name: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
});

/** How to connect, as a whole and in parts. */
export const connectionBody = z.object({
  connection_uri: z.string(),
  connection_parameters: z.object({
    database: z.string(),
    password: z.string(),
    role: z.string(),
    host: z.string(),
    pooler_host: z.string(),
  }),
});

/** What a change of each kind of object answers. */
export const branchMutationBody = z.object({ branch: branchBody, operations });
/** See `branchMutationBody`. */
export const projectMutationBody = z.object({ project: projectBody, operations });
/** See `branchMutationBody`. */
export const roleMutationBody = z.object({ role: roleBody, operations });
/** See `branchMutationBody`. */
export const databaseMutationBody = z.object({ database: databaseBody, operations });

/** A new branch with all that came with it. */
export const newBranchBody = branchMutationBody.extend({
  endpoints: z.array(endpointBody),
  roles: z.array(roleBody),
  databases: z.array(databaseBody),
  connection_uris: z.array(connectionBody),
});
/** A new project with all that came with it. */
export const newProjectBody = newBranchBody.extend({ project: projectBody });

const historyRetention = z.int().min(0).max(2_592_000);

/** The fields of an endpoint that comes with its branch. */
function firstEndpoint(profile: Profile) {
  return endpointFields(profile).pick({
    autoscaling_limit_min_cu: true,
    autoscaling_limit_max_cu: true,
    suspend_timeout_seconds: true,
    settings: true,
    provisioner: true,
  });
}

/** What a project's create says about its first endpoint, in either of two places. */
function endpointDefaults(profile: Profile) {
  return firstEndpoint(profile).omit({ settings: true, provisioner: true });
}

/** Body of a project's create. */
export function projectCreateBody(profile: Profile) {
  const sizes = endpointDefaults(profile).omit({ suspend_timeout_seconds: true });
  return z.object({
    project: z.object({
      ...sizes.shape,
      name: nameText(64).optional(),
      region_id: z.string().max(64).optional(),
      pg_version: z.int().min(14).max(defaultPgVersion).default(defaultPgVersion),
      history_retention_seconds: historyRetention.default(86_400),
      default_endpoint_settings: endpointDefaults(profile).optional(),
      branch: z
        .object({
          name: nameText(256).optional(),
          role_name: nameText(63).optional(),
          database_name: nameText(63).optional(),
        })
        .optional(),
    }),
  });
}

/** Body of a project's update. */
export const projectUpdateBody = z.object({
  project: z.object({ name: nameText(64).optional(), history_retention_seconds: historyRetention.optional() }),
});

/** Body of a branch's create; there may be none, which comes as null. */
export function branchCreateBody(profile: Profile) {
  return z
    .object({
      branch: z
        .object({
          name: nameText(256).optional(),
          parent_id: z.string().max(64).optional(),
          protected: z.boolean().default(false),
        })
        .optional(),
      endpoints: z
        .array(firstEndpoint(profile).extend({ type: z.enum(["read_write", "read_only"]) }))
        .max(20)
        .default([]),
    })
    .nullish();
}

/** Body of a branch's update. */
export const branchUpdateBody = z.object({
  branch: z.object({ name: nameText(256).optional(), protected: z.boolean().optional() }),
});

/** Body of a role's create. */
export const roleCreateBody = z.object({
  role: z.object({ name: nameText(63), no_login: z.boolean().default(false) }),
});

/** Body of a database's create. */
export const databaseCreateBody = z.object({
  database: z.object({ name: nameText(63), owner_name: nameText(63) }),
});

/** Body of a database's update. */
export const databaseUpdateBody = z.object({
  database: z.object({ name: nameText(63).optional(), owner_name: nameText(63).optional() }),
});
