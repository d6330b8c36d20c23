import { z } from "zod";
import type { DatabaseAddress } from "../../engine/branch-objects.ts";
import type { NewBranch } from "../../engine/branches.ts";
import type { Profile } from "../../engine/profile.ts";
import { type BranchRecord, nameText } from "../../engine/records.ts";
import { connectionBody, connectionView, databaseBody, databaseView, newRoleView, roleBody } from "./branch-objects.ts";
import { codecOf, fieldsOf, stampFields, timestamp, timeText } from "./codec.ts";
import { endpointBody, endpointFields, movingEndpointView } from "./endpoint.ts";
import { operationBody, operationView } from "./operation.ts";

const field = fieldsOf<BranchRecord>();
const zero = field(z.int(), () => 0);
const isReady = ({ state }: BranchRecord): boolean => state === "ready";

const branch = codecOf<BranchRecord>()({
  id: field(z.string(), ({ id }) => id),
  project_id: field(z.string(), ({ projectId }) => projectId),
  parent_id: field(z.string().optional(), ({ parentId }) => parentId),
  name: field(z.string(), ({ name }) => name),
  current_state: field(z.string(), ({ state }) => state),
  pending_state: field(z.string().optional(), (record) => (isReady(record) ? undefined : "ready")),
  state_changed_at: field(timestamp, (record) => timeText(isReady(record) ? record.updatedMs : record.createdMs)),
  creation_source: field(z.string(), () => "console"),
  primary: field(z.boolean(), ({ primary }) => primary),
  default: field(z.boolean(), ({ primary }) => primary),
  protected: field(z.boolean(), (record) => record.protected),
  logical_size: zero,
  cpu_used_sec: zero,
  compute_time_seconds: zero,
  active_time_seconds: zero,
  written_data_bytes: zero,
  data_transfer_bytes: zero,
  ...stampFields<BranchRecord>(),
});

/** A branch, as clients read it. */
export const branchBody = branch.body;

/** Shows a branch. */
export const branchView = branch.viewer();

/** A changed branch, and the operations that the change started. */
export const branchMutationBody = z.object({ branch: branchBody, operations: z.array(operationBody) });

/** A new branch with everything that came with it. */
export const newBranchBody = branchMutationBody.extend({
  endpoints: z.array(endpointBody),
  roles: z.array(roleBody),
  databases: z.array(databaseBody),
  connection_uris: z.array(connectionBody),
});

/** A new branch with everything that came with it; one connection for each database, through the read-write endpoint. */
export function newBranchView(
  created: NewBranch,
  profile: Profile,
  address: DatabaseAddress | undefined,
): z.output<typeof newBranchBody> {
  const { endpoints, roles, databases, operations } = created;
  const endpoint = endpoints.find(({ type }) => type === "read_write");
  const connections = databases.flatMap(({ name: databaseName, ownerName }) => {
    const role = roles.find(({ name }) => name === ownerName);
    return endpoint === undefined || role === undefined ? [] : [{ endpoint, role, databaseName, address }];
  });
  return {
    branch: branchView(created.branch),
    endpoints: endpoints.map((made) => movingEndpointView(made, profile)),
    roles: roles.map(newRoleView),
    databases: databases.map(databaseView),
    operations: operations.map((operation) => operationView(operation, profile)),
    connection_uris: connections.map(connectionView),
  };
}

/** The fields of an endpoint that comes with its branch. */
export function firstEndpointFields(profile: Profile) {
  return endpointFields(profile).pick({
    autoscaling_limit_min_cu: true,
    autoscaling_limit_max_cu: true,
    suspend_timeout_seconds: true,
    settings: true,
    provisioner: true,
  });
}

/** Body of a branch's create. There may be none, which comes as null. */
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
        .array(firstEndpointFields(profile).extend({ type: z.enum(["read_write", "read_only"]) }))
        .max(20)
        .default([]),
    })
    .nullish();
}

/** Body of a branch's update. */
export const branchUpdateBody = z.object({
  branch: z.object({ name: nameText(256).optional(), protected: z.boolean().optional() }),
});
