/** Parses the JSON of the control plane into the domain types, and makes the bodies of writes. */
import { z } from "zod";
import type { BranchCreation, ObservedBranch } from "../domain/branch.ts";
import type { EndpointChanges, EndpointCreation, EndpointType, ObservedEndpoint } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";

/*
 * Only the fields that every control plane sends are required. A missing field and `null` both mean absent. Unknown
 * fields are ignored, and every enum is an open string.
 * @see docs/control-plane.md, "Objects"
 * @see https://api-docs.neon.tech/reference (roles, databases; read 2026-11-22)
 */

const id = z.string().regex(/^[^\s\p{Cc}]{1,256}$/u);
const word = z.string().min(1).max(256);
const optionalWord = z.string().max(256).nullish().transform(presentText);
const timestamp = z
  .string()
  .max(64)
  .refine((text) => !Number.isNaN(Date.parse(text)), "not a timestamp");

/** PostgreSQL has about 400 settings. */
const maxSettings = 1_000;

/** Settings of PostgreSQL. The check ends at the first wrong one, because an issue for each one needs much memory. */
const pgSettings = z.custom<Readonly<Record<string, string | number | boolean | null>>>(
  (value) =>
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length <= maxSettings &&
    Object.values(value).every((setting) => setting === null || typeof setting !== "object"),
  "not PostgreSQL settings",
);

const wireTypes: Readonly<Record<EndpointType, string>> = { ReadWrite: "read_write", ReadOnly: "read_only" };
const types = new Map<string, string>(Object.entries(wireTypes).map(([type, wire]) => [wire, type]));

const endpoint = z
  .object({
    id,
    project_id: id,
    branch_id: id,
    type: word,
    host: word,
    autoscaling_limit_min_cu: z.number(),
    autoscaling_limit_max_cu: z.number(),
    current_state: word,
    pending_state: optionalWord,
    settings: z.object({ pg_settings: pgSettings.nullish() }).nullish(),
    pooler_enabled: z.boolean(),
    pooler_mode: word,
    disabled: z.boolean(),
    suspend_timeout_seconds: z.number().int().nullish(),
    name: z.string().max(1_024).nullish(),
    last_active: timestamp.nullish(),
    created_at: timestamp,
  })
  .transform((wire): ObservedEndpoint => {
    const settings = Object.entries(wire.settings?.pg_settings ?? {}).filter(([, value]) => value !== null);
    return {
      id: wire.id,
      projectId: wire.project_id,
      branchId: wire.branch_id,
      type: types.get(wire.type) ?? wire.type,
      host: wire.host,
      minUnits: wire.autoscaling_limit_min_cu,
      maxUnits: wire.autoscaling_limit_max_cu,
      state: wire.current_state,
      pendingState: wire.pending_state,
      pgSettings: Object.fromEntries(settings.map(([name, value]) => [name, String(value)])),
      poolerEnabled: wire.pooler_enabled,
      poolerMode: wire.pooler_mode,
      disabled: wire.disabled,
      suspendTimeoutSeconds: wire.suspend_timeout_seconds ?? undefined,
      name: presentText(wire.name),
      lastActiveTime: wire.last_active ?? undefined,
      createdTime: wire.created_at,
    };
  });

/** An operation, whose error text may still show secrets. */
const operation = z
  .object({
    id,
    project_id: id,
    branch_id: optionalWord,
    endpoint_id: optionalWord,
    action: word,
    status: word,
    failures_count: z.number().int().nullish(),
    created_at: timestamp,
    updated_at: timestamp,
    total_duration_ms: z.number().nullish(),
    error: z.string().nullish(),
  })
  .transform(
    (wire): Operation => ({
      id: wire.id,
      projectId: wire.project_id,
      branchId: wire.branch_id,
      endpointId: wire.endpoint_id,
      action: wire.action,
      status: wire.status,
      failuresCount: wire.failures_count ?? 0,
      createdTime: wire.created_at,
      updatedTime: wire.updated_at,
      totalDurationMs: wire.total_duration_ms ?? undefined,
      error: presentText(wire.error),
    }),
  );

/** A role. `password` is present only in the answer to the request that set the password. */
const role = z
  .object({ name: word, password: z.string().min(1).nullish(), updated_at: z.string().max(64) })
  .transform(({ name, password, updated_at: updatedTime }) => ({ name, password, updatedTime }));

const database = z
  .object({ name: word, owner_name: z.string() })
  .transform(({ name, owner_name: ownerName }) => ({ name, ownerName }));

const branch = z
  .object({
    id,
    name: z.string().max(1_024),
    parent_id: optionalWord,
    current_state: word,
    default: z.boolean().nullish(),
    primary: z.boolean().nullish(),
    protected: z.boolean().nullish(),
    expires_at: timestamp.nullish(),
    last_reset_at: timestamp.nullish(),
    logical_size: z.number().nullish(),
  })
  .transform(
    (wire): Omit<ObservedBranch, "annotation"> => ({
      id: wire.id,
      name: wire.name,
      parentId: wire.parent_id,
      state: wire.current_state,
      isDefault: (wire.default ?? wire.primary) === true,
      isProtected: wire.protected === true,
      expiresTime: wire.expires_at ?? undefined,
      lastResetTime: wire.last_reset_at ?? undefined,
      logicalSizeBytes: wire.logical_size ?? undefined,
    }),
  );

const annotation = z
  .object({ value: z.record(z.string(), z.string()).nullish() })
  .transform(({ value }) => value ?? {});

export const objects = { endpoint, operation, role, database, branch };

export const answers = {
  endpoint: z.object({ endpoint }),
  operation: z.object({ operation }),
  role: z.object({ role }),
  database: z.object({ database }),
  branch: z.object({ branch, annotation: annotation.nullish() }),
  annotations: z.object({ annotations: z.record(z.string(), annotation).nullish() }),
  branchUsage: z.object({ branch: z.object({ compute_time_seconds: z.number().nullish() }) }),
  password: z.object({ password: z.string().min(1) }),
  page: z.object({ pagination: z.object({ cursor: z.string().nullish() }).nullish() }),
};

/** The documented error shape; `code` is often empty. */
export const errorBody = z.object({ code: z.string(), message: z.string() });

export function presentText(text: string | null | undefined): string | undefined {
  return text === null || text === "" ? undefined : text;
}

/** Returns the body of a create or an update. JSON.stringify leaves out `undefined`. @see docs/control-plane.md, "Create" */
export function endpointBody(fields: EndpointChanges & Partial<EndpointCreation>): object {
  return {
    endpoint: {
      branch_id: fields.branchId,
      type: fields.type && wireTypes[fields.type],
      name: fields.name,
      autoscaling_limit_min_cu: fields.minUnits,
      autoscaling_limit_max_cu: fields.maxUnits,
      suspend_timeout_seconds: fields.suspendTimeoutSeconds,
      pooler_enabled: fields.poolerEnabled,
      pooler_mode: fields.poolerMode,
      settings: fields.pgSettings && { pg_settings: fields.pgSettings },
      disabled: fields.disabled,
    },
  };
}

const initSources = { ParentData: "parent-data", SchemaOnly: "schema-only" } as const;

/** @see https://api-docs.neon.tech/reference (branches; read 2026-11-22) */
export function branchBody(creation: BranchCreation): object {
  return {
    branch: {
      name: creation.name,
      parent_id: creation.parentId,
      parent_timestamp: creation.parentTime,
      init_source: creation.initSource && initSources[creation.initSource],
      expires_at: creation.expiresTime,
    },
    annotation_value: creation.annotation,
  };
}

/** A complete 2xx answer whose content cannot be used. The message is the end of the sentence "answered with …". */
export class UnusableContentError extends Error {
  override readonly name = "UnusableContentError";
}

/** @throws UnusableContentError */
export function readValue<Value>(value: unknown, schema: z.ZodType<Value>): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) {
    return parsed.data;
  }
  const { path = [], message = "unknown" } = parsed.error.issues[0] ?? {};
  // Positions in lists are left out, because they change from answer to answer.
  const field = path.map((part) => (typeof part === "number" ? "[]" : `.${String(part)}`)).join("");
  throw new UnusableContentError(`unexpected JSON at ${field.replace(/^\./, "") || "the top"}: ${message}`);
}

const anyObject = z.looseObject({});
const idOnly = z.object({ id });

/** The maximum number of entries in a list. All tenants share one process, and each entry costs time. */
const maxEntries = 10_000;

/** The maximum number of entries that cannot be parsed. Such an entry costs more time than another one. */
const maxUnreadable = 1_000;

/** @throws UnusableContentError when the field holds no list, or too many entries */
export function listIn(json: unknown, field: string, most = maxEntries): readonly unknown[] {
  const list = readValue(json, anyObject)[field];
  if (!Array.isArray(list)) {
    throw new UnusableContentError(`unexpected JSON at ${field}: not a list`);
  }
  if (list.length > most) {
    throw new UnusableContentError(`more than ${most} entries in a list`);
  }
  return list;
}

/** Parses the entries of a list up to the first one that does not fit. @throws UnusableContentError */
export function readEach<Entry>(list: readonly unknown[], schema: z.ZodType<Entry>): readonly Entry[] {
  return list.map((entry) => readValue(entry, schema));
}

/** Parses each entry by itself. `unreadableIds`: of those that do not fit; "" if the id could not be read either. */
export function readEntries<Entry>(list: readonly unknown[], schema: z.ZodType<Entry>) {
  const entries: Entry[] = [];
  const unreadableIds: string[] = [];
  for (const item of list) {
    const parsed = schema.safeParse(item);
    if (parsed.success) {
      entries.push(parsed.data);
    } else if (unreadableIds.push(idOnly.safeParse(item).data?.id ?? "") > maxUnreadable) {
      throw new UnusableContentError(`more than ${maxUnreadable} entries in a list that cannot be parsed`);
    }
  }
  return { entries, unreadableIds };
}
