/** The schemas of the control plane's JSON. */
import { z } from "zod";

/*
 * The JSON of the control plane. Only the fields that both profiles always send are required. A missing field and `null`
 * both mean absent, unknown fields are allowed, and every enum is an open string.
 *
 * @see docs/control-plane.md, "Objects"
 */

const id = z.string().regex(/^[^\s\p{Cc}]{1,256}$/u);
const word = z.string().min(1).max(256);
const endpointName = z.string().max(1_024);
const timestamp = z
  .string()
  .max(64)
  .refine((text) => !Number.isNaN(Date.parse(text)), "not a timestamp");
const pgSetting = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** The schema of a compute endpoint in the API. */
export const wireEndpoint = z.looseObject({
  id,
  project_id: id,
  branch_id: id,
  type: word,
  host: word,
  autoscaling_limit_min_cu: z.number(),
  autoscaling_limit_max_cu: z.number(),
  current_state: word,
  pending_state: z.string().max(256).nullish(),
  settings: z.looseObject({ pg_settings: z.record(z.string(), pgSetting).nullish() }).nullish(),
  pooler_enabled: z.boolean(),
  pooler_mode: word,
  disabled: z.boolean(),
  suspend_timeout_seconds: z.number().int().nullish(),
  name: endpointName.nullish(),
  last_active: timestamp.nullish(),
  created_at: timestamp,
  updated_at: timestamp,
});
export type WireEndpoint = z.infer<typeof wireEndpoint>;

/** The schema of an operation in the API. */
export const wireOperation = z.looseObject({
  id,
  project_id: id,
  branch_id: z.string().max(256).nullish(),
  endpoint_id: z.string().max(256).nullish(),
  action: word,
  status: word,
  failures_count: z.number().int().nullish(),
  created_at: timestamp,
  updated_at: timestamp,
  total_duration_ms: z.number().nullish(),
  error: z.string().nullish(),
});
export type WireOperation = z.infer<typeof wireOperation>;

/**
 * The answer to a list of endpoints. Each entry is parsed by itself, so that one malformed endpoint does not hide the
 * others.
 */
export const wireEndpointList = z.looseObject({ endpoints: z.array(z.unknown()) });

/** The answer to a read of one endpoint. */
export const wireEndpointAnswer = z.looseObject({ endpoint: wireEndpoint });

/** The answer to a list of operations. Each entry is parsed by itself, as in a list of endpoints. */
export const wireOperationList = z.looseObject({
  operations: z.array(z.unknown()),
  pagination: z.looseObject({ cursor: z.string().nullish() }).nullish(),
});

/** The id of an entry that could not be parsed. */
export const wireIdOnly = z.looseObject({ id });

/** The name of an entry that could not be parsed. */
export const wireNameOnly = z.looseObject({ name: endpointName });

/** The answer to a read of one operation. */
export const wireOperationAnswer = z.looseObject({ operation: wireOperation });

/** The answer to every write. */
export const wireMutation = z.looseObject({ endpoint: wireEndpoint, operations: z.array(wireOperation).nullish() });
export type WireMutation = z.infer<typeof wireMutation>;

/** The documented error shape; `code` is often empty. */
export const wireError = z.looseObject({ code: z.string(), message: z.string() });

/*
 * Roles and databases in the control plane's JSON. Only the fields that every profile sends are required.
 * @see https://api-docs.neon.tech/reference (roles, databases; read 2026-11-22)
 */

const name = z.string().min(1).max(256);
const operations = z.array(wireOperation).nullish();

/** The schema of a role. `password` is present only in the answer to the request that made it. */
const wireRole = z.looseObject({
  name,
  branch_id: z.string(),
  protected: z.boolean().nullish(),
  password: z.string().min(1).nullish(),
  updated_at: z.string().max(64),
});
export type WireRole = z.infer<typeof wireRole>;

/** The schema of a database. */
const wireDatabase = z.looseObject({ name, branch_id: z.string(), owner_name: z.string() });

export const wireRoleList = z.looseObject({ roles: z.array(wireRole) });
export const wireDatabaseList = z.looseObject({ databases: z.array(wireDatabase) });
export const wirePassword = z.looseObject({ password: z.string().min(1) });
export const wireRoleChange = z.looseObject({ role: wireRole, operations });
export const wireDatabaseChange = z.looseObject({ database: wireDatabase, operations });
