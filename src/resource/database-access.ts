import type { ResourceKey } from "../domain/resource-store.ts";
import { projectKey, recordedPlane } from "./control-plane-resource.ts";
import {
  type DatabaseAccessSpec,
  type DatabaseAccessStatus,
  databaseAccessSpecSchema,
  databaseAccessStatusSchema,
} from "./database-access-schema.ts";
import { databaseAccessNames } from "./names.ts";
import { type ParsedAs, parseSpecAs, readableFields, type StoredObject, storedObjectParser } from "./stored-object.ts";

export interface DatabaseAccess extends StoredObject {
  readonly kind: "DatabaseAccess";
  readonly spec: ParsedAs<DatabaseAccessSpec>;
  readonly status: DatabaseAccessStatus;
}

const parseStored = storedObjectParser(databaseAccessNames.kind);

/** A spec or status that does not fit is part of the result. @throws ZodError when kind or metadata do not fit */
export function parseDatabaseAccess(stored: unknown): DatabaseAccess {
  const { object, spec, status } = parseStored(stored);
  return {
    ...object,
    kind: databaseAccessNames.kind,
    spec: parseSpecAs(databaseAccessSpecSchema, spec),
    status: readableFields(databaseAccessStatusSchema, status),
  };
}

export function endpointKeyOf({ key, spec }: DatabaseAccess): ResourceKey | undefined {
  return spec.kind === "Valid" ? { namespace: key.namespace, name: spec.spec.endpointRef.name } : undefined;
}

/** With an invalid spec, the name is that of the resource. */
export function secretKeyOf({ key, spec }: DatabaseAccess): ResourceKey {
  const named = spec.kind === "Valid" ? spec.spec.secret?.name : undefined;
  return { namespace: key.namespace, name: named ?? key.name };
}

/** Without records: the control plane of the settings. */
export function recordedPlaneOf({ status }: DatabaseAccess): string {
  return recordedPlane(status.records?.controlPlane);
}

export function recordedKeysOf(resource: DatabaseAccess): readonly string[] {
  const planeId = recordedPlaneOf(resource);
  const { objects = [] } = resource.status.records ?? {};
  return [...new Set(objects.map(({ projectId }) => projectKey(planeId, projectId)))];
}
