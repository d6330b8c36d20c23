import type { z } from "zod";
import type { NewBranch } from "../engine/branches.ts";
import type { Connection } from "../engine/connections.ts";
import type { Profile } from "../engine/profile.ts";
import type { BranchRecord, DatabaseRecord, ProjectRecord, RoleRecord } from "../engine/records.ts";
import type { branchBody, connectionBody, databaseBody, newBranchBody, projectBody, roleBody } from "./object-wire.ts";
import { movingEndpointView, operationView, timeText } from "./views.ts";

/** The sandbox counts no usage: all of it is zero. */
const usage = {
  data_transfer_bytes: 0,
  written_data_bytes: 0,
  compute_time_seconds: 0,
  active_time_seconds: 0,
  cpu_used_sec: 0,
};

/** Id of the one account that everything belongs to. */
export const accountId = "user-sandbox";

/** A project. */
export function projectView(project: ProjectRecord, proxyHost: string): z.output<typeof projectBody> {
  const created = new Date(project.createdMs);
  const monthStartMs = (offset: number): number => Date.UTC(created.getUTCFullYear(), created.getUTCMonth() + offset);
  return {
    id: project.id,
    name: project.name,
    region_id: project.regionId,
    platform_id: project.regionId.split("-")[0] ?? "",
    pg_version: project.pgVersion,
    proxy_host: proxyHost,
    provisioner: "k8s-neonvm",
    store_passwords: true,
    branch_logical_size_limit: 0,
    branch_logical_size_limit_bytes: 0,
    history_retention_seconds: project.historyRetentionSeconds,
    data_storage_bytes_hour: 0,
    active_time: 0,
    ...usage,
    creation_source: "console",
    owner_id: accountId,
    consumption_period_start: timeText(monthStartMs(0)),
    consumption_period_end: timeText(monthStartMs(1)),
    created_at: timeText(project.createdMs),
    updated_at: timeText(project.updatedMs),
  };
}

/** A branch. */
export function branchView(branch: BranchRecord): z.output<typeof branchBody> {
  const isReady = branch.state === "ready";
  return {
    id: branch.id,
    project_id: branch.projectId,
    ...(branch.parentId === undefined ? {} : { parent_id: branch.parentId }),
    name: branch.name,
    current_state: branch.state,
    ...(isReady ? {} : { pending_state: "ready" }),
    state_changed_at: timeText(isReady ? branch.updatedMs : branch.createdMs),
    creation_source: "console",
    primary: branch.primary,
    default: branch.primary,
    protected: branch.protected,
    logical_size: 0,
    ...usage,
    created_at: timeText(branch.createdMs),
    updated_at: timeText(branch.updatedMs),
  };
}

/** A role without its password. */
export function roleView(role: RoleRecord): z.output<typeof roleBody> {
  return {
    branch_id: role.branchId,
    name: role.name,
    protected: false,
    created_at: timeText(role.createdMs),
    updated_at: timeText(role.updatedMs),
  };
}

/** A role with its password, for the answer to the request that made it. */
export function newRoleView(role: RoleRecord): z.output<typeof roleBody> {
  return { ...roleView(role), ...(role.password === undefined ? {} : { password: role.password }) };
}

/** A database. */
export function databaseView(database: DatabaseRecord): z.output<typeof databaseBody> {
  return {
    id: database.sequence,
    branch_id: database.branchId,
    name: database.name,
    owner_name: database.ownerName,
    created_at: timeText(database.createdMs),
    updated_at: timeText(database.updatedMs),
  };
}

/** `ep-x.region…` → `ep-x-pooler.region…`. */
export function poolerHost({ host, id }: Connection["endpoint"]): string {
  return host.replace(id, `${id}-pooler`);
}

/** A connection string. A role that cannot log in has no password in it. */
export function connectionUri({ endpoint, role, databaseName }: Connection, isPooled: boolean): string {
  const user = [role.name, ...(role.password === undefined ? [] : [role.password])].map(encodeURIComponent).join(":");
  const host = isPooled ? poolerHost(endpoint) : endpoint.host;
  return `postgresql://${user}@${host}/${encodeURIComponent(databaseName)}?sslmode=require`;
}

/** How to connect, as a whole and in parts. */
export function connectionView(connection: Connection): z.output<typeof connectionBody> {
  const { endpoint, role, databaseName } = connection;
  return {
    connection_uri: connectionUri(connection, false),
    connection_parameters: {
      database: databaseName,
      password: role.password ?? "",
      role: role.name,
      host: endpoint.host,
      pooler_host: poolerHost(endpoint),
    },
  };
}

/** A new branch with all that came with it; one connection for each database, through the read-write endpoint. */
export function newBranchView(created: NewBranch, profile: Profile): z.output<typeof newBranchBody> {
  const { branch, endpoints, roles, databases, operations } = created;
  const endpoint = endpoints.find(({ type }) => type === "read_write");
  const connections = databases.flatMap(({ name: databaseName, ownerName }) => {
    const role = roles.find(({ name }) => name === ownerName);
    return endpoint === undefined || role === undefined ? [] : [{ endpoint, role, databaseName }];
  });
  return {
    branch: branchView(branch),
    endpoints: endpoints.map((made) => movingEndpointView(made, profile)),
    roles: roles.map(newRoleView),
    databases: databases.map(databaseView),
    operations: operations.map((operation) => operationView(operation, profile)),
    connection_uris: connections.map(connectionView),
  };
}
