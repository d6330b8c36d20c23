/**
 * The records of the sandbox, with one schema for each kind.
 * The schema gives the TypeScript type. It checks the records that a client restores (PUT `/sandbox/v1/snapshot`), and
 * parses the rows of a state directory. Records are plain values; a change replaces the whole record.
 */
import { z } from "zod";
import { isOwnedSetting } from "./owned-settings.ts";

/** The longest auto-suspend delay: 7 days. @see docs/sandbox.md "Compute sizes and delays" */
export const longestSuspendSeconds = 604_800;

/** Its length is the same in every programming language, so it has no characters outside of the BMP. */
export const nameText = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .regex(/^[ -~\u00A0-\uD7FF\uE000-\uFFFD]+$/, "must be printable");

/** PostgreSQL cuts a longer name, and then no client can log in with it. */
const longestObjectNameBytes = 63;

const objectName = (what: string, isReserved: (name: string) => boolean) =>
  nameText(longestObjectNameBytes)
    .refine((name) => Buffer.byteLength(name) <= longestObjectNameBytes, "must be at most 63 bytes long")
    .refine((name) => !isReserved(name), { error: ({ input }) => `the ${what} name "${input}" is reserved` });

const reservedRoles = new Set(["cloud_admin", "neon_superuser", "public", "none"]);

export const newRoleName = objectName("role", (name) => name.startsWith("pg_") || reservedRoles.has(name));

const reservedDatabases = new Set(["postgres", "template0", "template1"]);

export const newDatabaseName = objectName("database", (name) => reservedDatabases.has(name));

const id = z.string().min(1).max(256);
const sequence = z.int().min(0).max(1e14);
/** Epoch milliseconds of the sandbox's clock, until the end of the year 9999, so that the year has four digits. */
const time = z.int().min(0).max(253_402_300_799_999);
const stamps = { createdMs: time, updatedMs: time };
const units = z.number().positive().max(1000);
const suspendSeconds = z.int().min(-1).max(longestSuspendSeconds);

export const operationActions = [
  "apply_config",
  "apply_storage_config",
  "check_availability",
  "create_branch",
  "create_timeline",
  "delete_tenant",
  "start_compute",
  "suspend_compute",
] as const;

const namedSettings = z.record(z.string(), z.string());

export const postgresSettings = namedSettings.superRefine((settings, context) => {
  for (const name of Object.keys(settings).filter(isOwnedSetting)) {
    context.addIssue({ code: "custom", path: [name], message: "is set by the control plane and cannot be changed" });
  }
});

export const projectSettings = z.object({ enable_logical_replication: z.boolean().optional() });

const endpointDefaults = z.object({
  minUnits: units.optional(),
  maxUnits: units.optional(),
  suspendTimeoutSeconds: suspendSeconds.optional(),
  pgSettings: postgresSettings.optional(),
});

export const projectRecord = z.object({
  id,
  sequence,
  name: nameText(256),
  regionId: nameText(64),
  plan: z.enum(["free", "paid"]),
  pgVersion: z.int(),
  historyRetentionSeconds: z.int().min(0),
  orgId: id.optional(),
  provisioner: z.string().optional(),
  /** `undefined`: it does. */
  storePasswords: z.boolean().optional(),
  settings: projectSettings.optional(),
  endpointDefaults: endpointDefaults.optional(),
  ...stamps,
  /** The record stays, because its operations can still be read. */
  deletedMs: time.optional(),
});

export const branchRecord = z.object({
  id,
  sequence,
  projectId: id,
  parentId: id.optional(),
  name: nameText(256),
  primary: z.boolean(),
  protected: z.boolean(),
  /** `init`: it is being created. `resetting`: it is being restored. */
  state: z.enum(["init", "resetting", "ready"]),
  /** The time of the parent's data. `undefined`: the creation of this branch. */
  parentTimestampMs: time.optional(),
  /** `undefined`: `parent-data`. */
  initSource: z.enum(["schema-only", "parent-data"]).optional(),
  expiresMs: time.optional(),
  /** The seconds from the request that set `expiresMs` until `expiresMs`. */
  ttlSeconds: z.int().min(0).optional(),
  annotation: namedSettings.optional(),
  lastResetMs: time.optional(),
  restoredFrom: id.optional(),
  ...stamps,
});

const endpointConfig = {
  branchId: id,
  minUnits: units,
  maxUnits: units,
  /** Seconds without activity until the compute is suspended. 0: the control plane's default; -1: never. */
  suspendTimeoutSeconds: suspendSeconds,
  pgSettings: postgresSettings,
  poolerEnabled: z.boolean(),
  poolerMode: z.string(),
  disabled: z.boolean(),
  passwordlessAccess: z.boolean(),
  provisioner: z.string(),
  /** The endpoint's name. `undefined`: none was given, or the profile does not show names. */
  name: z.string().optional(),
};

export const endpointRecord = z.object({
  ...endpointConfig,
  id,
  sequence,
  projectId: id,
  type: z.enum(["read_write", "read_only"]),
  regionId: nameText(64),
  host: nameText(512),
  proxyHost: nameText(256),
  /** `init`: the endpoint was created, and its first operation has not ended. */
  state: z.enum(["init", "idle", "active"]),
  /** The state after the unfinished operations; `undefined`: the compute is not changing. */
  pendingState: z.enum(["idle", "active"]).optional(),
  lastActiveMs: time.optional(),
  startedMs: time.optional(),
  suspendedMs: time.optional(),
  ...stamps,
});

/** Start, end and planned failure are decided at the creation. Real work can end later, and can fail. */
export const operationRecord = z.object({
  id,
  sequence,
  projectId: id,
  branchId: id,
  endpointId: id.optional(),
  action: z.enum(operationActions),
  status: z.enum(["scheduling", "running", "finished", "failed"]),
  failuresCount: z.int().min(0),
  error: z.string().optional(),
  /** The operation will end as `failed` with this error text; `undefined`: no failure is planned. */
  plannedError: z.string().optional(),
  runsAtMs: time,
  endsAtMs: time,
  /**
   * Only for a create_branch that restores an existing branch: the source of the data. `preservedId` is the new branch
   * that keeps the former data. Without `sourceMs`, the source's present data is used.
   */
  restore: z.object({ sourceBranchId: id, sourceMs: time.optional(), preservedId: id.optional() }).optional(),
  /** For a create_branch of a schema-only branch: the id of the branch whose schema it copies. */
  schemaOf: id.optional(),
  /** For a create_branch that copies the data of a branch into a branch snapshot: the id of the snapshot. */
  snapshotId: id.optional(),
  ...stamps,
});

/** A database user of a branch. */
export const roleRecord = z.object({
  id,
  sequence,
  projectId: id,
  branchId: id,
  name: nameText(63),
  /** The password in plain text, because the API can reveal it. `undefined`: the role cannot log in. */
  password: nameText(256).optional(),
  ...stamps,
});

export const databaseRecord = z.object({
  /** The id, `<branch id>/<sequence>`, because the name may change. */
  id,
  sequence,
  projectId: id,
  branchId: id,
  name: nameText(63),
  /** The name of a role of the same branch. */
  ownerName: nameText(63),
  ...stamps,
});

const contents = {
  roles: z.array(roleRecord.pick({ name: true, password: true })),
  databases: z.array(databaseRecord.pick({ name: true, ownerName: true })),
};

/** The roles and databases that a branch had until `untilMs`. */
export const versionRecord = z.object({
  id,
  sequence,
  projectId: id,
  branchId: id,
  untilMs: time,
  ...contents,
});

/**
 * A branch snapshot: a stored copy of one branch, made by a request of the API. The snapshot of the control API is
 * another thing: it holds all records.
 */
export const snapshotRecord = z.object({
  id,
  sequence,
  projectId: id,
  /** The source branch. It may have been deleted since. */
  branchId: id,
  name: nameText(256),
  timestampMs: time,
  expiresMs: time.optional(),
  ...contents,
  createdMs: time,
});

/** The branches, endpoints, roles and databases of a deleted project, kept as long as the project can be recovered. */
export const trashRecord = z.object({
  id,
  sequence,
  branches: z.array(branchRecord),
  endpoints: z.array(endpointRecord),
  roles: z.array(roleRecord),
  databases: z.array(databaseRecord),
});

/** How long the computes of a branch ran on one day (UTC). */
export const usageRecord = z.object({
  id,
  /** The number of the day since 1970. */
  sequence,
  projectId: id,
  branchId: id,
  dayMs: time,
  activeMs: z.number().min(0),
  /** Run time multiplied by size, in milliseconds times compute units. */
  unitMs: z.number().min(0),
});

/** An API key. The key itself is never stored. */
export const keyRecord = z.object({
  id,
  sequence,
  name: z.string(),
  /** `read`: the key may neither change anything nor read secrets. */
  access: z.enum(["read", "write"]),
  /** The only project that the key may use. `undefined`: every project. */
  projectId: id.optional(),
  createdMs: time,
  /** The SHA-256 hash of the key, hexadecimal. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});

/** A timer: at `dueMs`, the engine acts on one object. There is at most one timer for each `key`. */
export const timerRecord = z.object({
  key: id,
  kind: z.enum(["operation", "autoSuspend", "availabilityCheck", "expiry"]),
  /** The id of the operation, endpoint, branch or branch snapshot on which the engine acts. */
  subjectId: id,
  dueMs: time,
  /** If several timers are due at the same time, the one with the lowest rank goes first. */
  rank: z.int(),
});

/** Everything that a store holds. Each list is ordered by `sequence`, and timers by their due time. */
export const storeContent = z.object({
  projects: z.array(projectRecord),
  branches: z.array(branchRecord),
  endpoints: z.array(endpointRecord),
  operations: z.array(operationRecord),
  roles: z.array(roleRecord),
  databases: z.array(databaseRecord),
  keys: z.array(keyRecord),
  versions: z.array(versionRecord).default([]),
  snapshots: z.array(snapshotRecord).default([]),
  trash: z.array(trashRecord).default([]),
  usage: z.array(usageRecord).default([]),
  timers: z.array(timerRecord),
  counters: z.record(z.string(), sequence),
  values: z.record(z.string(), z.string()),
});

export type ProjectRecord = Readonly<z.output<typeof projectRecord>>;
export type BranchRecord = Readonly<z.output<typeof branchRecord>>;
export type EndpointRecord = Readonly<z.output<typeof endpointRecord>>;
export type EndpointConfig = Pick<EndpointRecord, keyof typeof endpointConfig>;
export type OperationRecord = Readonly<z.output<typeof operationRecord>>;
export type RoleRecord = Readonly<z.output<typeof roleRecord>>;
export type DatabaseRecord = Readonly<z.output<typeof databaseRecord>>;
export type ProjectSettings = Readonly<z.output<typeof projectSettings>>;
export type EndpointDefaults = Readonly<z.output<typeof endpointDefaults>>;
export type BranchContents = Pick<VersionRecord, "roles" | "databases">;
export type VersionRecord = Readonly<z.output<typeof versionRecord>>;
export type SnapshotRecord = Readonly<z.output<typeof snapshotRecord>>;
export type TrashRecord = Readonly<z.output<typeof trashRecord>>;
export type UsageRecord = Readonly<z.output<typeof usageRecord>>;
export type KeyRecord = Readonly<z.output<typeof keyRecord>>;
export type TimerRecord = Readonly<z.output<typeof timerRecord>>;
export type StoreContent = { readonly [Name in keyof z.output<typeof storeContent>]: Immutable<Name> };
type Immutable<Name extends keyof z.output<typeof storeContent>> = Readonly<z.output<typeof storeContent>[Name]>;

export type PendingState = NonNullable<EndpointRecord["pendingState"]>;
export type Plan = ProjectRecord["plan"];
export type Action = OperationRecord["action"];

/** The result of a change: the object after it (after a deletion: before it), and the started operations. */
export type Changed<Name extends string, R> = { readonly [N in Name]: R } & {
  readonly operations: readonly OperationRecord[];
};
export type KeyAccess = KeyRecord["access"];
