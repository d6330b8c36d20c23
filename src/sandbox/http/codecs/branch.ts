/** The schemas of branches in requests and answers, and the conversion of branch records into answers. */
import { z } from "zod";
import type { DatabaseAddress } from "../../engine/branch-objects.ts";
import type { BranchMutation, NewBranch } from "../../engine/branches.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Profile } from "../../engine/profile.ts";
import { type BranchRecord, nameText } from "../../engine/records.ts";
import { connectionView, databaseView, newRoleView } from "./branch-objects.ts";
import { givenTime, optionalTime, stamps, timeText, usageView } from "./codec.ts";
import { endpointFields, movingEndpointView } from "./endpoint.ts";
import { operationViews } from "./operation.ts";

const annotated = { annotation_value: z.record(z.string().max(256), z.string().max(1024)).optional() };

/** Shows the annotation of a branch; `value` is empty if there is none. */
export function annotationView({ id, annotation, createdMs }: BranchRecord) {
  const madeAt = timeText(createdMs);
  return { object: { type: "console/branch", id }, value: annotation ?? {}, created_at: madeAt, updated_at: madeAt };
}

export function branchView(record: BranchRecord, { restores }: Engine) {
  const { id, projectId, name, state, primary } = record;
  return {
    id,
    project_id: projectId,
    parent_id: record.parentId,
    name,
    primary,
    default: primary,
    parent_timestamp: optionalTime(record.parentTimestampMs),
    init_source: record.initSource,
    expires_at: optionalTime(record.expiresMs),
    ttl_interval_seconds: record.ttlSeconds,
    last_reset_at: optionalTime(record.lastResetMs),
    restored_from: record.restoredFrom,
    current_state: state,
    pending_state: state === "ready" ? undefined : "ready",
    state_changed_at: timeText(state === "init" ? record.createdMs : record.updatedMs),
    creation_source: "console",
    protected: record.protected,
    ...usageView(restores.usage({ projectId, branchId: id })),
    logical_size: 0,
    written_data_bytes: 0,
    data_transfer_bytes: 0,
    ...stamps(record),
  };
}

export function branchMutationView({ branch, operations }: BranchMutation, engine: Engine) {
  return { branch: branchView(branch, engine), operations: operationViews(operations, engine.profile) };
}

/** It has one connection for each database, through the read-write endpoint. */
export function newBranchView(created: NewBranch, engine: Engine, address: DatabaseAddress | undefined) {
  const { endpoints, roles, databases, operations } = created;
  const { profile } = engine;
  const endpoint = endpoints.find(({ type }) => type === "read_write");
  const connections = databases.flatMap(({ name: databaseName, ownerName }) => {
    const role = roles.find(({ name }) => name === ownerName);
    return endpoint === undefined || role === undefined ? [] : [{ endpoint, role, databaseName, address }];
  });
  return {
    ...branchMutationView({ branch: created.branch, operations }, engine),
    endpoints: endpoints.map((made) => movingEndpointView(made, profile)),
    roles: roles.map(newRoleView),
    databases: databases.map(databaseView),
    connection_uris: connections.map(connectionView),
  };
}

export function firstEndpointFields(profile: Profile) {
  return endpointFields(profile).pick({
    autoscaling_limit_min_cu: true,
    autoscaling_limit_max_cu: true,
    suspend_timeout_seconds: true,
    settings: true,
    provisioner: true,
  });
}

/** A missing body counts as `null`. */
export function branchCreateBody(profile: Profile) {
  return z
    .object({
      ...((profile.branchAnnotations ? annotated : {}) as typeof annotated),
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
