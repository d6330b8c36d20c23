/** The JSON of the control plane: its schemas, how answers are read, and the types of the domain made from them. */
import { z } from "zod";
import type { Mutation } from "../domain/control-plane.ts";
import type { EndpointChanges, EndpointCreation, EndpointType, ObservedEndpoint } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import { parseJson } from "../http/exchange.ts";

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

const typeByWireType: ReadonlyMap<string, string> = new Map([
  ["read_write", "ReadWrite"],
  ["read_only", "ReadOnly"],
]);

/** Converts an endpoint of the API into the domain type. An unknown type keeps the control plane's word. */
export function endpointFromWire(wire: WireEndpoint): ObservedEndpoint {
  return {
    id: wire.id,
    projectId: wire.project_id,
    branchId: wire.branch_id,
    type: typeByWireType.get(wire.type) ?? wire.type,
    host: wire.host,
    minUnits: wire.autoscaling_limit_min_cu,
    maxUnits: wire.autoscaling_limit_max_cu,
    state: wire.current_state,
    pendingState: presentText(wire.pending_state),
    pgSettings: settingsFromWire(wire.settings?.pg_settings ?? {}),
    poolerEnabled: wire.pooler_enabled,
    poolerMode: wire.pooler_mode,
    disabled: wire.disabled,
    suspendTimeoutSeconds: wire.suspend_timeout_seconds ?? undefined,
    name: presentText(wire.name),
    lastActiveTime: wire.last_active ?? undefined,
    createdTime: wire.created_at,
    updatedTime: wire.updated_at,
  };
}

/** Converts an operation of the API into the domain type. @param clean removes secrets from the error text */
export function operationFromWire(wire: WireOperation, clean: (text: string) => string): Operation {
  const error = presentText(wire.error);
  return {
    id: wire.id,
    projectId: wire.project_id,
    branchId: presentText(wire.branch_id),
    endpointId: presentText(wire.endpoint_id),
    action: wire.action,
    status: wire.status,
    failuresCount: wire.failures_count ?? 0,
    createdTime: wire.created_at,
    updatedTime: wire.updated_at,
    totalDurationMs: wire.total_duration_ms ?? undefined,
    error: error === undefined ? undefined : clean(error),
  };
}

/** Converts the answer of a write. An answer without operations means that the write started none. */
export function mutationFromWire(wire: WireMutation, clean: (text: string) => string): Mutation {
  return {
    endpoint: endpointFromWire(wire.endpoint),
    operations: (wire.operations ?? []).map((operation) => operationFromWire(operation, clean)),
  };
}

function settingsFromWire(settings: Readonly<Record<string, string | number | boolean | null>>) {
  const present = Object.entries(settings).filter(([, value]) => value !== null);
  return Object.fromEntries(present.map(([name, value]) => [name, String(value)]));
}

/** Returns a text, or `undefined` for `null` and "". */
export function presentText(text: string | null | undefined): string | undefined {
  return text === null || text === "" ? undefined : text;
}

const wireTypes: Readonly<Record<EndpointType, string>> = { ReadWrite: "read_write", ReadOnly: "read_only" };

/** Returns the body of a create. @see docs/control-plane.md, "Create" */
export function creationToWire(creation: EndpointCreation): string {
  return JSON.stringify({
    endpoint: { ...changedFields(creation), type: wireTypes[creation.type], name: creation.name },
  });
}

/** Returns the body of an update: only the fields to change. */
export function changesToWire(changes: EndpointChanges): string {
  return JSON.stringify({ endpoint: changedFields(changes) });
}

/** Returns the fields under the names of the API. JSON.stringify leaves out `undefined` members. */
function changedFields(changes: EndpointChanges): Readonly<Record<string, unknown>> {
  return {
    branch_id: changes.branchId,
    autoscaling_limit_min_cu: changes.minUnits,
    autoscaling_limit_max_cu: changes.maxUnits,
    suspend_timeout_seconds: changes.suspendTimeoutSeconds,
    pooler_enabled: changes.poolerEnabled,
    pooler_mode: changes.poolerMode,
    settings: changes.pgSettings === undefined ? undefined : { pg_settings: changes.pgSettings },
    disabled: changes.disabled,
  };
}

/** A complete 2xx answer whose content cannot be used. The message is the end of the sentence "answered with …". */
export class UnusableContentError extends Error {
  override readonly name = "UnusableContentError";
}

/** Parses a body by its schema. @throws UnusableContentError */
export function readAnswer<Value>(body: Uint8Array, schema: z.ZodType<Value>): Value {
  const json = parseJson(body);
  if (json === undefined) {
    throw new UnusableContentError(body.length === 0 ? "an empty body" : "something that is not JSON");
  }
  const parsed = schema.safeParse(json.value);
  if (parsed.success) {
    return parsed.data;
  }
  const issue = parsed.error.issues[0];
  throw new UnusableContentError(`unexpected JSON at ${pathText(issue?.path ?? [])}: ${issue?.message ?? "unknown"}`);
}

/**
 * Refuses an answer about another object. A list must contain only objects of the requested project, and a read only
 * the requested object.
 * @param field the field that must equal `value` in each object.
 * @param otherwise what the answer is about otherwise, for the message.
 * @throws UnusableContentError
 */
export function expectEach<Field extends string>(
  objects: readonly Readonly<Record<Field, string>>[],
  { field, value, otherwise }: { readonly field: Field; readonly value: string; readonly otherwise: string },
): void {
  if (objects.some((object) => object[field] !== value)) {
    throw new UnusableContentError(otherwise);
  }
}

/** Returns the path of a field, without positions in lists: they change from answer to answer. */
function pathText(path: readonly PropertyKey[]): string {
  const text = path.map((part) => (typeof part === "number" ? "[]" : `.${String(part)}`)).join("");
  return text === "" ? "the top" : text.replace(/^\./, "");
}

/** The entries of one list. Each entry is parsed by itself. */
interface ListEntries<Entry> {
  readonly entries: readonly Entry[];
  /** Ids of entries that do not fit the schema, in the order of the list; "" if the id could not be read either. */
  readonly unreadableIds: readonly string[];
  /** Names of these entries, if they have a name that can be read. */
  readonly unreadableNames: readonly string[];
}

/**
 * Parses each entry of a list. An entry that does not fit is left out, and its id and name are reported. Never throws.
 */
export function readEntries<Entry>(list: readonly unknown[], schema: z.ZodType<Entry>): ListEntries<Entry> {
  const entries: Entry[] = [];
  const unreadable: unknown[] = [];
  for (const item of list) {
    const parsed = schema.safeParse(item);
    if (parsed.success) {
      entries.push(parsed.data);
    } else {
      unreadable.push(item);
    }
  }
  return {
    entries,
    unreadableIds: unreadable.map((item) => wireIdOnly.safeParse(item).data?.id ?? ""),
    unreadableNames: unreadable.flatMap((item) => wireNameOnly.safeParse(item).data?.name ?? []),
  };
}
