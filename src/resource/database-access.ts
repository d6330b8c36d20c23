/**
 * Parses DatabaseAccesses from the API server, and reads which endpoint, Secret, control plane and projects they name.
 */
import type { ResourceKey } from "../domain/resource-store.ts";
import { projectKey, settingsPlane } from "./control-plane-resource.ts";
import {
  type DatabaseAccessSpec,
  type DatabaseAccessStatus,
  databaseAccessSpecSchema,
  databaseAccessStatusSchema,
} from "./database-access-schema.ts";
import { databaseAccessNames } from "./names.ts";
import {
  fieldsOf,
  type ParsedAs,
  parseSpecAs,
  readableFields,
  type StoredObject,
  storedObjectParser,
} from "./stored-object.ts";

/** The stored spec of a DatabaseAccess, parsed. */
export type ParsedAccessSpec = ParsedAs<DatabaseAccessSpec>;

/** One DatabaseAccess, parsed. Everything in it is as the API server stored it. */
export interface DatabaseAccess extends StoredObject {
  readonly kind: "DatabaseAccess";
  readonly spec: ParsedAccessSpec;
  readonly status: DatabaseAccessStatus;
  /** False: records, password or secret cannot be parsed, so the operator creates, changes and deletes nothing. */
  readonly isStatusReadable: boolean;
}

const parseStored = storedObjectParser(databaseAccessNames.kind);

/**
 * Parses a DatabaseAccess from the API server. A spec or status that does not fit the schema is part of the result, not
 * an error.
 * @throws ZodError when the object is of another kind, or its metadata is not that of a stored namespaced object.
 */
export function parseDatabaseAccess(stored: unknown): DatabaseAccess {
  const { object, spec, status } = parseStored(stored);
  return {
    ...object,
    kind: databaseAccessNames.kind,
    spec: parseSpecAs(databaseAccessSpecSchema, spec),
    ...parseStatus(status),
  };
}

function parseStatus(status: unknown): Pick<DatabaseAccess, "status" | "isStatusReadable"> {
  const parsed = databaseAccessStatusSchema.safeParse(status ?? {});
  if (parsed.success) {
    return { status: parsed.data, isStatusReadable: true };
  }
  const fields = fieldsOf(status);
  const isStatusReadable = trustedSchema.safeParse(fields).success;
  return { status: readableFields(databaseAccessStatusSchema, fields), isStatusReadable };
}

/** The members of status that the operator cannot determine again. */
export const trustedMembers = ["records", "password", "secret"] as const;

const trustedSchema = databaseAccessStatusSchema.pick({ records: true, password: true, secret: true });

/** Returns the key of the ComputeEndpoint that the spec names; `undefined` if the spec cannot be parsed. */
export function endpointKeyOf({ key, spec }: DatabaseAccess): ResourceKey | undefined {
  return spec.kind === "Valid" ? { namespace: key.namespace, name: spec.spec.endpointRef.name } : undefined;
}

/**
 * Returns the key of the Secret that the operator writes for the resource. If the spec is invalid, the name is that of
 * the resource.
 */
export function secretKeyOf({ key, spec }: DatabaseAccess): ResourceKey {
  const named = spec.kind === "Valid" ? spec.spec.secret?.name : undefined;
  return { namespace: key.namespace, name: named ?? key.name };
}

/**
 * Returns the id of the control plane in which status records roles and databases; without records, that of the control
 * plane of the settings.
 */
export function recordedPlaneOf({ status }: DatabaseAccess): string {
  return status.records?.controlPlane ?? settingsPlane;
}

/** Returns the key of each project in which status records a role or a database. */
export function recordedKeysOf(resource: DatabaseAccess): readonly string[] {
  const planeId = recordedPlaneOf(resource);
  const { objects = [] } = resource.status.records ?? {};
  return [...new Set(objects.map(({ projectId }) => projectKey(planeId, projectId)))];
}
