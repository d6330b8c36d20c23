/**
 * The schemas of roles, databases and connection strings in requests and answers, and the conversion of records into
 * answers.
 */
import { z } from "zod";
import type { Connection, DatabaseAddress } from "../../engine/branch-objects.ts";
import { pooledAddress } from "../../engine/endpoints.ts";
import { type DatabaseRecord, nameText, newDatabaseName, newRoleName, type RoleRecord } from "../../engine/records.ts";
import { codecOf, fieldsOf, stampFields } from "./codec.ts";
import { operationBody } from "./operation.ts";

const operations = z.array(operationBody);
const roleField = fieldsOf<RoleRecord>();

const role = codecOf<RoleRecord>()({
  branch_id: roleField(z.string(), ({ branchId }) => branchId),
  name: roleField(z.string(), ({ name }) => name),
  password: roleField(z.string().optional(), ({ password }) => password),
  protected: roleField(z.boolean(), () => false),
  ...stampFields<RoleRecord>(),
});

/** A role in an answer. Its password is only in the answer to the request that created or reset the password. */
export const roleBody = role.body;
export const roleView = role.viewer(["password"]);
export const newRoleView = role.viewer();
/** A changed role, and the operations that the change started. */
export const roleMutationBody = z.object({ role: roleBody, operations });
export const roleCreateBody = z.object({
  role: z.object({ name: newRoleName, no_login: z.boolean().default(false) }),
});

const databaseField = fieldsOf<DatabaseRecord>();

const database = codecOf<DatabaseRecord>()({
  id: databaseField(z.int(), ({ sequence }) => sequence),
  branch_id: databaseField(z.string(), ({ branchId }) => branchId),
  name: databaseField(z.string(), ({ name }) => name),
  owner_name: databaseField(z.string(), ({ ownerName }) => ownerName),
  ...stampFields<DatabaseRecord>(),
});

export const databaseBody = database.body;
export const databaseView = database.viewer();
/** A changed database, and the operations that the change started. */
export const databaseMutationBody = z.object({ database: databaseBody, operations });
export const databaseCreateBody = z.object({
  database: z.object({ name: newDatabaseName, owner_name: nameText(63) }),
});
export const databaseUpdateBody = z.object({
  database: z.object({ name: newDatabaseName.optional(), owner_name: nameText(63).optional() }),
});

/** A connection, and the address at which clients reach the servers. If no computes run, `address` is `undefined`. */
export type ReachableConnection = Connection & { readonly address: DatabaseAddress | undefined };

const connectionField = fieldsOf<ReachableConnection>();

const connection = codecOf<ReachableConnection>()({
  connection_uri: connectionField(z.string(), (made) => connectionUri(made, false)),
  connection_parameters: connectionField(
    z.object({
      database: z.string(),
      password: z.string(),
      role: z.string(),
      host: z.string(),
      pooler_host: z.string(),
    }),
    ({ endpoint, role, databaseName }) => ({
      database: databaseName,
      password: role.password ?? "",
      role: role.name,
      host: endpoint.host,
      pooler_host: poolerHost(endpoint),
    }),
  ),
});

/** How to connect, in an answer: as one text and in parts. */
export const connectionBody = connection.body;
export const connectionView = connection.viewer();

/**
 * Returns the host of the connection pooler: `ep-x.region…` → `ep-x-pooler.region…`, or the loopback address for pooled
 * connections.
 */
export function poolerHost({ host, id }: Connection["endpoint"]): string {
  return pooledAddress(host) ?? host.replace(id, `${id}-pooler`);
}

/**
 * Returns a connection string. If `role` has no password, because it cannot log in or its password is not stored, the
 * string has none.
 */
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
