/**
 * The schemas of roles, databases and connection strings in requests and answers, and the conversion of records into
 * answers.
 */
import { z } from "zod";
import type { Connection, DatabaseAddress } from "../../engine/branch-objects.ts";
import { pooledAddress } from "../../engine/endpoints.ts";
import { type DatabaseRecord, nameText, newDatabaseName, newRoleName, type RoleRecord } from "../../engine/records.ts";
import { stamps } from "./codec.ts";

/** Shows a role. Its password is only in the answer to the request that created or reset the password. */
export function roleView(record: RoleRecord) {
  return { branch_id: record.branchId, name: record.name, protected: false, ...stamps(record) };
}

export function newRoleView(record: RoleRecord) {
  return { ...roleView(record), password: record.password };
}

export const roleCreateBody = z.object({
  role: z.object({ name: newRoleName, no_login: z.boolean().default(false) }),
});

export function databaseView(record: DatabaseRecord) {
  const { sequence: id, branchId, name, ownerName } = record;
  return { id, branch_id: branchId, name, owner_name: ownerName, ...stamps(record) };
}

export const databaseCreateBody = z.object({
  database: z.object({ name: newDatabaseName, owner_name: nameText(63) }),
});
export const databaseUpdateBody = z.object({
  database: z.object({ name: newDatabaseName.optional(), owner_name: nameText(63).optional() }),
});

export type ReachableConnection = Connection & { readonly address: DatabaseAddress | undefined };

export function connectionView(made: ReachableConnection) {
  const { endpoint, role, databaseName: database } = made;
  const [password, host] = [role.password ?? "", endpoint.host];
  return {
    connection_uri: connectionUri(made, false),
    connection_parameters: { database, password, role: role.name, host, pooler_host: poolerHost(endpoint) },
  };
}

/** `ep-x.region…` → `ep-x-pooler.region…`, or the loopback address for pooled connections. */
export function poolerHost({ host, id }: Connection["endpoint"]): string {
  return pooledAddress(host) ?? host.replace(id, `${id}-pooler`);
}

/** If `role` has no password, because it cannot log in or its password is not stored, the string has none. */
export function connectionUri(
  { endpoint, role, databaseName, address }: ReachableConnection,
  isPooled: boolean,
): string {
  const user = [role.name, ...(role.password === undefined ? [] : [role.password])].map(encodeURIComponent).join(":");
  const host = isPooled ? poolerHost(endpoint) : endpoint.host;
  const database = encodeURIComponent(databaseName);
  if (address === undefined) return `postgresql://${user}@${host}/${database}?sslmode=require`;
  // Many systems cannot resolve the host names of endpoints, so the connection string names the endpoint in `options`.
  const name = isPooled ? `${endpoint.id}-pooler` : endpoint.id;
  return `postgresql://${user}@${address.host}:${address.port}/${database}?sslmode=require&options=endpoint%3D${name}`;
}
