/** Converts between the JSON of the control plane and the domain types: schemas, parsed answers, bodies of writes. */
import { z } from "zod";
import type { ObservedRole } from "../domain/control-plane.ts";
import type { EndpointChanges, EndpointCreation, EndpointType, ObservedEndpoint } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { AnswerTexts } from "./call.ts";

/*
 * Only the fields that every control plane sends are required. A missing field and `null` both mean absent. Unknown
 * fields are ignored, and every enum is an open string.
 * @see docs/control-plane.md, "Objects"
 * @see https://api-docs.neon.tech/reference (roles, databases; read 2026-11-22)
 */

const id = z.string().regex(/^[^\s\p{Cc}]{1,256}$/u);
const word = z.string().min(1).max(256);
const endpointName = z.string().max(1_024);
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

export const wireEndpoint = z.object({
  id,
  project_id: id,
  branch_id: id,
  type: word,
  host: word,
  autoscaling_limit_min_cu: z.number(),
  autoscaling_limit_max_cu: z.number(),
  current_state: word,
  pending_state: z.string().max(256).nullish(),
  settings: z.object({ pg_settings: pgSettings.nullish() }).nullish(),
  pooler_enabled: z.boolean(),
  pooler_mode: word,
  disabled: z.boolean(),
  suspend_timeout_seconds: z.number().int().nullish(),
  name: endpointName.nullish(),
  last_active: timestamp.nullish(),
  created_at: timestamp,
  updated_at: timestamp,
});

export const wireOperation = z.object({
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
type WireOperation = z.infer<typeof wireOperation>;

/** The schema of a role. `password` is present only in the answer to the request that set the password. */
export const wireRole = z.object({
  name: word,
  branch_id: z.string(),
  password: z.string().min(1).nullish(),
  updated_at: z.string().max(64),
});

export const wireDatabase = z.object({ name: word, branch_id: z.string(), owner_name: z.string() });
const operations = z.array(z.unknown()).nullish();

/** Each endpoint and operation is parsed by itself, so that a malformed one does not hide the others. */
export const wireEndpointList = z.object({ endpoints: z.array(z.unknown()) });
export const wireOperationList = z.object({
  operations: z.array(z.unknown()),
  pagination: z.object({ cursor: z.string().nullish() }).nullish(),
});
export const wireRoleList = z.object({ roles: z.array(z.unknown()) });
export const wireDatabaseList = z.object({ databases: z.array(z.unknown()) });

export const wireMutation = z.object({ endpoint: wireEndpoint, operations });
export const wireRoleChange = z.object({ role: wireRole, operations });
export const wireDatabaseChange = z.object({ database: wireDatabase, operations });

export const wirePassword = z.object({ password: z.string().min(1) });

/** The documented error shape; `code` is often empty. */
export const wireError = z.object({ code: z.string(), message: z.string() });

const typeByWireType: ReadonlyMap<string, string> = new Map([
  ["read_write", "ReadWrite"],
  ["read_only", "ReadOnly"],
]);

/** Converts an endpoint of the API into the domain type. An unknown type keeps the control plane's word. */
export function endpointFromWire(wire: z.infer<typeof wireEndpoint>): ObservedEndpoint {
  const settings = Object.entries(wire.settings?.pg_settings ?? {}).filter(([, value]) => value !== null);
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
    pgSettings: Object.fromEntries(settings.map(([name, value]) => [name, String(value)])),
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

export function operationFromWire(wire: WireOperation, clean: AnswerTexts["clean"]): Operation {
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

/** Without operations, the write started none. @throws UnusableContentError */
export function operationsFromWire(
  wire: readonly unknown[] | null | undefined,
  clean: AnswerTexts["clean"],
): Operation[] {
  return readEach(wire ?? [], wireOperation).map((operation) => operationFromWire(operation, clean));
}

export function roleFromWire(wire: z.infer<typeof wireRole>): ObservedRole {
  return { name: wire.name, updatedTime: wire.updated_at };
}

/** Returns a text, or `undefined` for `null` and "". */
export function presentText(text: string | null | undefined): string | undefined {
  return text === null || text === "" ? undefined : text;
}

const wireTypes: Readonly<Record<EndpointType, string>> = { ReadWrite: "read_write", ReadOnly: "read_only" };

/** Returns the body of a create. @see docs/control-plane.md, "Create" */
export function creationToWire(creation: EndpointCreation): object {
  return { endpoint: { ...changedFields(creation), type: wireTypes[creation.type], name: creation.name } };
}

export function changesToWire(changes: EndpointChanges): object {
  return { endpoint: changedFields(changes) };
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

/** The maximum number of entries in a list. All tenants share one process, and each entry costs time. */
const maxEntries = 10_000;

/** The maximum number of entries that cannot be parsed. Such an entry costs more time than another one. */
const maxUnreadable = 1_000;

function expectFew(list: readonly unknown[]): void {
  if (list.length > maxEntries) {
    throw new UnusableContentError(`more than ${maxEntries} entries in a list`);
  }
}

/** Parses the entries of a list up to the first one that does not fit. @throws UnusableContentError */
export function readEach<Entry>(list: readonly unknown[], schema: z.ZodType<Entry>): readonly Entry[] {
  expectFew(list);
  return list.map((entry) => readValue(entry, schema));
}

/** `field` must equal `value`. @param otherwise what the answer shows else. @throws UnusableContentError */
export function expectEach<Field extends string>(
  objects: readonly Readonly<Record<Field, string>>[],
  field: Field,
  value: string,
  otherwise: string,
): void {
  if (objects.some((object) => object[field] !== value)) {
    throw new UnusableContentError(otherwise);
  }
}

interface ListEntries<Entry> {
  readonly entries: readonly Entry[];
  /** Ids of entries that do not fit the schema, in the order of the list; "" if the id could not be read either. */
  readonly unreadableIds: readonly string[];
}

const wireIdOnly = z.object({ id });

/** @throws UnusableContentError when the list has too many entries, or too many of them do not fit */
export function readEntries<Entry>(list: readonly unknown[], schema: z.ZodType<Entry>): ListEntries<Entry> {
  expectFew(list);
  const entries: Entry[] = [];
  const unreadable: unknown[] = [];
  for (const item of list) {
    const parsed = schema.safeParse(item);
    if (parsed.success) {
      entries.push(parsed.data);
    } else {
      unreadable.push(item);
      if (unreadable.length > maxUnreadable) {
        throw new UnusableContentError(`more than ${maxUnreadable} entries in a list that cannot be parsed`);
      }
    }
  }
  return {
    entries,
    unreadableIds: unreadable.map((item) => wireIdOnly.safeParse(item).data?.id ?? ""),
  };
}
