import { z } from "zod";
import { longestSuspendSeconds } from "../../engine/settings.ts";
import { nameText } from "../../name-text.ts";
import { operationActions } from "../wire.ts";

const id = z.string().min(1).max(256);
/** With room for as many more as anybody will need, before they stop being exact. */
const sequence = z.int().min(0).max(1e14);
/** Until the end of the year 9999, so that it can be written as a date. */
const time = z.int().min(0).max(253_402_300_799_999);
const stamps = { createdMs: time, updatedMs: time };
const units = z.number().positive().max(1000);

const project = z.object({
  id,
  sequence,
  name: nameText(256),
  regionId: nameText(64),
  plan: z.enum(["free", "paid"]),
  pgVersion: z.int(),
  historyRetentionSeconds: z.int().min(0),
  ...stamps,
  deletedMs: time.optional(),
});

const branch = z.object({
  id,
  sequence,
  projectId: id,
  parentId: id.optional(),
  name: nameText(256),
  primary: z.boolean(),
  protected: z.boolean(),
  state: z.enum(["init", "ready"]),
  ...stamps,
});

const endpoint = z.object({
  id,
  sequence,
  projectId: id,
  branchId: id,
  type: z.enum(["read_write", "read_only"]),
  regionId: nameText(64),
  host: nameText(512),
  proxyHost: nameText(256),
  state: z.enum(["init", "idle", "active"]),
  pendingState: z.enum(["idle", "active"]).optional(),
  minUnits: units,
  maxUnits: units,
  suspendTimeoutSeconds: z.int().min(-1).max(longestSuspendSeconds),
  pgSettings: z.record(z.string(), z.string()),
  poolerEnabled: z.boolean(),
  poolerMode: z.string(),
  disabled: z.boolean(),
  passwordlessAccess: z.boolean(),
  provisioner: z.string(),
  name: z.string().optional(),
  lastActiveMs: time.optional(),
  startedMs: time.optional(),
  suspendedMs: time.optional(),
  ...stamps,
});

const operation = z.object({
  id,
  sequence,
  projectId: id,
  branchId: id,
  endpointId: id.optional(),
  action: z.enum(operationActions),
  status: z.enum(["scheduling", "running", "finished", "failed"]),
  failuresCount: z.int().min(0),
  error: z.string().optional(),
  plannedError: z.string().optional(),
  runsAtMs: time,
  endsAtMs: time,
  ...stamps,
});

const role = z.object({
  id,
  sequence,
  projectId: id,
  branchId: id,
  name: nameText(63),
  password: nameText(256).optional(),
  ...stamps,
});

const database = z.object({
  id,
  sequence,
  projectId: id,
  branchId: id,
  name: nameText(63),
  ownerName: nameText(63),
  ...stamps,
});

const key = z.object({
  id,
  sequence,
  name: z.string(),
  access: z.enum(["read", "write"]),
  projectId: id.optional(),
  createdMs: time,
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});

const timer = z.object({
  key: id,
  kind: z.enum(["operation", "autoSuspend", "availabilityCheck"]),
  subjectId: id,
  dueMs: time,
  rank: z.int(),
});

/** Everything a store holds, as JSON: what is undefined is left out. */
export const contentBody = z.object({
  projects: z.array(project),
  branches: z.array(branch),
  endpoints: z.array(endpoint),
  operations: z.array(operation),
  roles: z.array(role),
  databases: z.array(database),
  keys: z.array(key),
  timers: z.array(timer),
  counters: z.record(z.string(), sequence),
  values: z.record(z.string(), z.string()),
});

/** A snapshot: the state, and what it can be put back into. */
export const snapshotBody = z.object({
  /** Rises when records change their shape. */
  version: z.literal(1),
  profile: z.enum(["seed", "public"]),
  content: contentBody,
});
