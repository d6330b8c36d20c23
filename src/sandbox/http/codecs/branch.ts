/** The schemas of branches in requests and answers, and the conversion of branch records into answers. */
import { z } from "zod";
import type { DatabaseAddress } from "../../engine/branch-objects.ts";
import type { NewBranch } from "../../engine/branches.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Profile } from "../../engine/profile.ts";
import { type BranchRecord, nameText } from "../../engine/records.ts";
import type { Usage } from "../../engine/usage.ts";
import { connectionBody, connectionView, databaseBody, databaseView, newRoleView, roleBody } from "./branch-objects.ts";
import { codecOf, fieldsOf, givenTime, optionalTime, stampFields, timestamp, timeText, usageFields } from "./codec.ts";
import { endpointBody, endpointFields, movingEndpointView } from "./endpoint.ts";
import { operationBody, operationView } from "./operation.ts";

export interface ShownBranch extends BranchRecord {
  /** The usage in the present month. */
  readonly usage: Usage;
}

const field = fieldsOf<ShownBranch>();
const zero = field(z.int(), () => 0);
const isReady = ({ state }: BranchRecord): boolean => state === "ready";

const branch = codecOf<ShownBranch>()({
  id: field(z.string(), ({ id }) => id),
  project_id: field(z.string(), ({ projectId }) => projectId),
  parent_id: field(z.string().optional(), ({ parentId }) => parentId),
  parent_timestamp: field(timestamp.optional(), ({ parentTimestampMs }) => optionalTime(parentTimestampMs)),
  init_source: field(z.string().optional(), ({ initSource }) => initSource),
  expires_at: field(timestamp.optional(), ({ expiresMs }) => optionalTime(expiresMs)),
  ttl_interval_seconds: field(z.int().optional(), ({ ttlSeconds }) => ttlSeconds),
  last_reset_at: field(timestamp.optional(), ({ lastResetMs }) => optionalTime(lastResetMs)),
  restored_from: field(z.string().optional(), ({ restoredFrom }) => restoredFrom),
  name: field(z.string(), ({ name }) => name),
  current_state: field(z.string(), ({ state }) => state),
  pending_state: field(z.string().optional(), (record) => (isReady(record) ? undefined : "ready")),
  state_changed_at: field(timestamp, (record) =>
    timeText(record.state === "init" ? record.createdMs : record.updatedMs),
  ),
  creation_source: field(z.string(), () => "console"),
  primary: field(z.boolean(), ({ primary }) => primary),
  default: field(z.boolean(), ({ primary }) => primary),
  protected: field(z.boolean(), (record) => record.protected),
  logical_size: zero,
  ...usageFields<ShownBranch>(),
  written_data_bytes: zero,
  data_transfer_bytes: zero,
  ...stampFields<ShownBranch>(),
});

export const branchBody = branch.body;

const annotationValue = z.record(z.string().max(256), z.string().max(1024));

/** The annotation of a branch: notes of a user. */
export const annotationBody = z.object({
  object: z.object({ type: z.string(), id: z.string() }),
  value: annotationValue,
  created_at: timestamp,
  updated_at: timestamp,
});

/** Shows the annotation of a branch; `value` is empty if there is none. */
export function annotationView({ id, annotation, createdMs }: BranchRecord): z.output<typeof annotationBody> {
  const madeAt = timeText(createdMs);
  return { object: { type: "console/branch", id }, value: annotation ?? {}, created_at: madeAt, updated_at: madeAt };
}

const view = branch.viewer();

export function branchView(record: BranchRecord, engine: Engine): z.output<typeof branchBody> {
  const { id: branchId, projectId } = record;
  return view({ ...record, usage: engine.restores.usage({ projectId, branchId }) });
}

/** A changed branch, and the operations that the change started. */
export const branchMutationBody = z.object({ branch: branchBody, operations: z.array(operationBody) });

export const newBranchBody = branchMutationBody.extend({
  endpoints: z.array(endpointBody),
  roles: z.array(roleBody),
  databases: z.array(databaseBody),
  connection_uris: z.array(connectionBody),
});

/**
 * Shows a new branch with everything that was created with it, and one connection for each database through the
 * read-write endpoint.
 */
export function newBranchView(
  created: NewBranch,
  engine: Engine,
  address: DatabaseAddress | undefined,
): z.output<typeof newBranchBody> {
  const { endpoints, roles, databases, operations } = created;
  const { profile } = engine;
  const endpoint = endpoints.find(({ type }) => type === "read_write");
  const connections = databases.flatMap(({ name: databaseName, ownerName }) => {
    const role = roles.find(({ name }) => name === ownerName);
    return endpoint === undefined || role === undefined ? [] : [{ endpoint, role, databaseName, address }];
  });
  return {
    branch: branchView(created.branch, engine),
    endpoints: endpoints.map((made) => movingEndpointView(made, profile)),
    roles: roles.map(newRoleView),
    databases: databases.map(databaseView),
    operations: operations.map((operation) => operationView(operation, profile)),
    connection_uris: connections.map(connectionView),
  };
}

/** Returns the request fields of an endpoint that is created with its branch. */
export function firstEndpointFields(profile: Profile) {
  return endpointFields(profile).pick({
    autoscaling_limit_min_cu: true,
    autoscaling_limit_max_cu: true,
    suspend_timeout_seconds: true,
    settings: true,
    provisioner: true,
  });
}

/** Returns the request body that creates a branch. A missing body counts as `null`. */
export function branchCreateBody(profile: Profile) {
  return z
    .object({
      branch: z
        .object({
          name: nameText(256).optional(),
          parent_id: z.string().max(64).optional(),
          protected: z.boolean().default(false),
          parent_timestamp: givenTime.optional(),
          init_source: z.enum(["schema-only", "parent-data"]).optional(),
          expires_at: givenTime.optional(),
        })
        .optional(),
      endpoints: z
        .array(firstEndpointFields(profile).extend({ type: z.enum(["read_write", "read_only"]) }))
        .max(20)
        .default([]),
      annotation_value: annotationValue.optional(),
    })
    .nullish();
}

export const branchUpdateBody = z.object({
  branch: z.object({
    name: nameText(256).optional(),
    protected: z.boolean().optional(),
    expires_at: givenTime.nullish(),
  }),
});

export const branchRestoreBody = z.object({
  source_branch_id: z.string().max(64),
  source_timestamp: givenTime.optional(),
  preserve_under_name: nameText(256).optional(),
});
