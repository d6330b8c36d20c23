/**
 * What the sandbox remembers: one schema for each kind of record. The schema gives the type, checks a snapshot, and reads
 * the rows of a state directory. Records are plain values; a change replaces the whole record.
 */
import { isIP } from "node:net";
import { z } from "zod";

/** The longest auto-suspend delay: 7 days. @see docs/sandbox.md "Compute sizes and delays" */
export const longestSuspendSeconds = 604_800;

/**
 * A name that users give: no control characters, and none beyond the basic plane. So a length is the same number in every
 * programming language.
 */
export const nameText = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .regex(/^[ -~\u00A0-\uD7FF\uE000-\uFFFD]+$/, "must be printable");

const id = z.string().min(1).max(256);
/** Leaves room to count on without losing exactness. */
const sequence = z.int().min(0).max(1e14);
/** Epoch milliseconds of the sandbox's clock, until the end of the year 9999: a date with four digits for its year. */
const time = z.int().min(0).max(253_402_300_799_999);
const stamps = { createdMs: time, updatedMs: time };
const units = z.number().positive().max(1000);
const suspendSeconds = z.int().min(-1).max(longestSuspendSeconds);

/** Every action of an operation that the sandbox starts. */
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

/** Settings of Postgres or its pooler: name → value. */
const namedSettings = z.record(z.string(), z.string());
/** Shared libraries that Postgres loads at its start, in the words of the API. */
export const preloadLibraries = z.object({
  use_defaults: z.boolean().optional(),
  enabled_libraries: z.array(nameText(256)).max(100).optional(),
});
const quotaNumber = z.int().min(0).optional();
const clockTime = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "must be HH:MM");

/** One address, a network (`10.0.0.0/8`) or a range (`10.0.0.1-10.0.0.9`). */
function isAddressRange(text: string): boolean {
  const [, address = text, bits] = /^([^/]*)\/(\d{1,3})$/.exec(text) ?? [];
  if (bits !== undefined) return isIP(address) !== 0 && Number(bits) <= (isIP(address) === 4 ? 32 : 128);
  const ends = text.split("-");
  const [family = 0] = ends.map(isIP);
  return ends.length <= 2 && family !== 0 && ends.every((end) => isIP(end) === family);
}

/** The settings of a project, in the words of the API. A field that was never given is missing. */
export const projectSettings = z.object({
  /** Kept and shown. The sandbox does not stop computes that use more. */
  quota: z
    .object({
      active_time_seconds: quotaNumber,
      compute_time_seconds: quotaNumber,
      written_data_bytes: quotaNumber,
      data_transfer_bytes: quotaNumber,
      logical_size_bytes: quotaNumber,
    })
    .optional(),
  allowed_ips: z
    .object({
      ips: z
        .array(z.string().refine(isAddressRange, "must be an IP address, a network or a range"))
        .max(1000)
        .optional(),
      protected_branches_only: z.boolean().optional(),
      primary_branch_only: z.boolean().optional(),
    })
    .optional(),
  enable_logical_replication: z.boolean().optional(),
  maintenance_window: z
    .object({ weekdays: z.array(z.int().min(1).max(7)).min(1).max(7), start_time: clockTime, end_time: clockTime })
    .optional(),
  block_public_connections: z.boolean().optional(),
  block_vpc_connections: z.boolean().optional(),
  audit_log_level: z.enum(["base", "extended", "full"]).optional(),
  hipaa: z.boolean().optional(),
  preload_libraries: preloadLibraries.optional(),
});

/** What endpoints of a project get when a request does not say otherwise. */
const endpointDefaults = z.object({
  minUnits: units.optional(),
  maxUnits: units.optional(),
  suspendTimeoutSeconds: suspendSeconds.optional(),
  pgSettings: namedSettings.optional(),
  pgbouncerSettings: namedSettings.optional(),
});

/** A project. */
export const projectRecord = z.object({
  id,
  sequence,
  name: nameText(256),
  /** `<cloud>-<region>`. */
  regionId: nameText(64),
  /** Decides which sizes and endpoint types the project may use. */
  plan: z.enum(["free", "paid"]),
  /** Major version of Postgres. */
  pgVersion: z.int(),
  historyRetentionSeconds: z.int().min(0),
  orgId: id.optional(),
  provisioner: z.string().optional(),
  /** `undefined`: yes. */
  storePasswords: z.boolean().optional(),
  settings: projectSettings.optional(),
  endpointDefaults: endpointDefaults.optional(),
  ...stamps,
  /** Set: the project is deleted. The record stays, because its operations can still be read. */
  deletedMs: time.optional(),
});

/** A branch. */
export const branchRecord = z.object({
  id,
  sequence,
  projectId: id,
  parentId: id.optional(),
  name: nameText(256),
  primary: z.boolean(),
  /** A protected branch cannot be deleted. */
  protected: z.boolean(),
  /** `init`: the operation that creates the branch has not finished. `resetting`: the one that restores it has not. */
  state: z.enum(["init", "resetting", "ready"]),
  /** The time on the parent branch from which this branch has its data. `undefined`: that of its creation. */
  parentTimestampMs: time.optional(),
  /** `undefined`: `parent-data`. */
  initSource: z.enum(["schema-only", "parent-data"]).optional(),
  /** The control plane deletes the branch at this time. */
  expiresMs: time.optional(),
  /** Time between the request that set `expiresMs` and `expiresMs`. */
  ttlSeconds: z.int().min(0).optional(),
  annotation: namedSettings.optional(),
  lastResetMs: time.optional(),
  /** Id of the API snapshot from which the branch was restored. */
  restoredFrom: id.optional(),
  ...stamps,
});

/** The fields of an endpoint that a request may set. */
const endpointConfig = {
  branchId: id,
  /** Compute units. */
  minUnits: units,
  /** Compute units. */
  maxUnits: units,
  /** 0: the control plane's default; -1: never. */
  suspendTimeoutSeconds: suspendSeconds,
  pgSettings: namedSettings,
  pgbouncerSettings: namedSettings.optional(),
  preloadLibraries: preloadLibraries.optional(),
  poolerEnabled: z.boolean(),
  poolerMode: z.string(),
  disabled: z.boolean(),
  passwordlessAccess: z.boolean(),
  provisioner: z.string(),
  /** `undefined`: never given, or the profile does not know names. */
  name: z.string().optional(),
};

/** A compute endpoint. */
export const endpointRecord = z.object({
  ...endpointConfig,
  id,
  sequence,
  projectId: id,
  type: z.enum(["read_write", "read_only"]),
  regionId: nameText(64),
  host: nameText(512),
  proxyHost: nameText(256),
  /** `init`: created, and its first operation has not ended. */
  state: z.enum(["init", "idle", "active"]),
  /** `undefined`: the compute is not moving. */
  pendingState: z.enum(["idle", "active"]).optional(),
  /** `undefined`: never been active. */
  lastActiveMs: time.optional(),
  startedMs: time.optional(),
  suspendedMs: time.optional(),
  ...stamps,
});

/** One piece of work of the control plane. Its start, end and outcome are decided when it is made. */
export const operationRecord = z.object({
  id,
  /** Rises with every operation. It orders operations with the same `createdMs`. */
  sequence,
  projectId: id,
  branchId: id,
  endpointId: id.optional(),
  action: z.enum(operationActions),
  /** `finished` and `failed` are final. */
  status: z.enum(["scheduling", "running", "finished", "failed"]),
  failuresCount: z.int().min(0),
  error: z.string().optional(),
  /** Set: the operation will end as `failed`, with this text. */
  plannedError: z.string().optional(),
  runsAtMs: time,
  endsAtMs: time,
  /** Of a create_branch that restores a branch which is already there: where its data comes from (`sourceMs` absent: the
   * present), and the new branch that gets what it held. */
  restore: z.object({ sourceBranchId: id, sourceMs: time.optional(), preservedId: id.optional() }).optional(),
  /** Of a create_branch without rows: the branch whose schema it gets. */
  schemaOf: id.optional(),
  /** Of a create_branch that copies the data of its branch for this snapshot of the API. */
  snapshotId: id.optional(),
  ...stamps,
});

/** A database user of a branch. */
export const roleRecord = z.object({
  /** `<branch id>/<name>`. */
  id,
  sequence,
  projectId: id,
  branchId: id,
  name: nameText(63),
  /** In plain text, because the API can reveal it. `undefined`: the role cannot log in. */
  password: nameText(256).optional(),
  ...stamps,
});

/** A database of a branch. */
export const databaseRecord = z.object({
  /** `<branch id>/<sequence>`, because the name may change. */
  id,
  sequence,
  projectId: id,
  branchId: id,
  name: nameText(63),
  /** Name of a role of the same branch. */
  ownerName: nameText(63),
  ...stamps,
});

const contents = {
  roles: z.array(roleRecord.pick({ name: true, password: true })),
  databases: z.array(databaseRecord.pick({ name: true, ownerName: true })),
};

/** The roles and databases that a branch had until a time. Kept for as long as the project retains its history. */
export const versionRecord = z.object({
  /** `<branch id>/<sequence>`. */
  id,
  sequence,
  projectId: id,
  branchId: id,
  untilMs: time,
  ...contents,
});

/** A snapshot of a branch, as the API makes them. Not a snapshot of the whole sandbox. */
export const snapshotRecord = z.object({
  id,
  sequence,
  projectId: id,
  /** The source branch, which may be deleted since. */
  branchId: id,
  name: nameText(256),
  timestampMs: time,
  expiresMs: time.optional(),
  ...contents,
  createdMs: time,
});

/** What a deleted project consisted of, for as long as it can be recovered. */
export const trashRecord = z.object({
  /** Id of the project. */
  id,
  sequence,
  branches: z.array(branchRecord),
  endpoints: z.array(endpointRecord),
  roles: z.array(roleRecord),
  databases: z.array(databaseRecord),
});

/** How long the computes of a branch ran on one day (UTC). */
export const usageRecord = z.object({
  /** `<branch id>/<start of the day>`. */
  id,
  /** Number of the day since 1970. */
  sequence,
  projectId: id,
  branchId: id,
  dayMs: time,
  activeMs: z.number().min(0),
  /** Milliseconds times compute units. */
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
  /** SHA-256 of the key, hexadecimal. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});

/** Something that is due at a time. There is at most one timer for each `key`. */
export const timerRecord = z.object({
  key: id,
  kind: z.enum(["operation", "autoSuspend", "availabilityCheck", "expiry"]),
  /** Id of the operation, endpoint, branch or snapshot. */
  subjectId: id,
  dueMs: time,
  /** Among timers due at the same time, the lower rank goes first. */
  rank: z.int(),
});

/** Everything a store holds: each list in the order of `sequence`, timers in the order in which they are due. */
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

/** @see projectRecord */
export type ProjectRecord = Readonly<z.output<typeof projectRecord>>;
/** @see branchRecord */
export type BranchRecord = Readonly<z.output<typeof branchRecord>>;
/** @see endpointRecord */
export type EndpointRecord = Readonly<z.output<typeof endpointRecord>>;
/** The fields of an endpoint that a request may set. */
export type EndpointConfig = Pick<EndpointRecord, keyof typeof endpointConfig>;
/** @see operationRecord */
export type OperationRecord = Readonly<z.output<typeof operationRecord>>;
/** @see roleRecord */
export type RoleRecord = Readonly<z.output<typeof roleRecord>>;
/** @see databaseRecord */
export type DatabaseRecord = Readonly<z.output<typeof databaseRecord>>;
/** @see projectSettings */
export type ProjectSettings = Readonly<z.output<typeof projectSettings>>;
/** What endpoints of a project get when a request does not say otherwise. */
export type EndpointDefaults = Readonly<z.output<typeof endpointDefaults>>;
/** The roles and databases of a branch. */
export type BranchContents = Pick<VersionRecord, "roles" | "databases">;
/** @see versionRecord */
export type VersionRecord = Readonly<z.output<typeof versionRecord>>;
/** @see snapshotRecord */
export type SnapshotRecord = Readonly<z.output<typeof snapshotRecord>>;
/** @see trashRecord */
export type TrashRecord = Readonly<z.output<typeof trashRecord>>;
/** @see usageRecord */
export type UsageRecord = Readonly<z.output<typeof usageRecord>>;
/** @see keyRecord */
export type KeyRecord = Readonly<z.output<typeof keyRecord>>;
/** @see timerRecord */
export type TimerRecord = Readonly<z.output<typeof timerRecord>>;
/** @see storeContent */
export type StoreContent = { readonly [Name in keyof z.output<typeof storeContent>]: Immutable<Name> };
type Immutable<Name extends keyof z.output<typeof storeContent>> = Readonly<z.output<typeof storeContent>[Name]>;

/** `read_write` or `read_only`. */
export type EndpointType = EndpointRecord["type"];
/** State of a compute. */
export type ComputeState = EndpointRecord["state"];
/** The state that a compute is moving to. */
export type PendingState = NonNullable<EndpointRecord["pendingState"]>;
/** `free` or `paid`. */
export type Plan = ProjectRecord["plan"];
/** Action of an operation. */
export type Action = OperationRecord["action"];
/** Status of an operation. */
export type OperationStatus = OperationRecord["status"];
/** State of a branch. */
export type BranchState = BranchRecord["state"];
/** What a key may do. */
export type KeyAccess = KeyRecord["access"];
