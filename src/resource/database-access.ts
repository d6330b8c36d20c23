import type { ResourceKey } from "../domain/resource-store.ts";
import {
  type DatabaseAccessSpec,
  type DatabaseAccessStatus,
  databaseAccessSpecSchema,
  databaseAccessStatusSchema,
} from "./database-access-schema.ts";
import { databaseAccessNames } from "./names.ts";
import { type ParsedAs, parseSpecAs, type StoredObject, storedObjectParser } from "./stored-object.ts";

/** A spec as it was stored. */
export type ParsedAccessSpec = ParsedAs<DatabaseAccessSpec>;

/** One DatabaseAccess, parsed. Everything in it is as the API server stored it. */
export interface DatabaseAccess extends StoredObject {
  readonly kind: "DatabaseAccess";
  readonly spec: ParsedAccessSpec;
  readonly status: DatabaseAccessStatus;
  /** False: status cannot be parsed as a whole. The operator then deletes nothing at the control plane. */
  readonly isStatusReadable: boolean;
}

const parseStored = storedObjectParser(databaseAccessNames.kind);

/**
 * Reads an object of the API server. A spec or status that does not fit is part of the result, not an error.
 *
 * @throws ZodError when it is of another kind, or the metadata is not that of a stored namespaced object.
 */
export function parseDatabaseAccess(stored: unknown): DatabaseAccess {
  const { object, spec, status } = parseStored(stored);
  const parsedStatus = databaseAccessStatusSchema.safeParse(status ?? {});
  return {
    ...object,
    kind: databaseAccessNames.kind,
    spec: parseSpecAs(databaseAccessSpecSchema, spec),
    status: parsedStatus.data ?? {},
    isStatusReadable: parsedStatus.success,
  };
}

/** The ComputeEndpoint that the resource names; `undefined` for a spec that cannot be read. */
export function endpointKeyOf({ key, spec }: DatabaseAccess): ResourceKey | undefined {
  return spec.kind === "Valid" ? { namespace: key.namespace, name: spec.spec.endpointRef.name } : undefined;
}

/** The Secret that the resource writes. */
export function secretKeyOf({ key, spec }: DatabaseAccess): ResourceKey {
  const named = spec.kind === "Valid" ? spec.spec.secret?.name : undefined;
  return { namespace: key.namespace, name: named ?? key.name };
}

/** The projects in which status records a role or a database, each once. */
export function recordedProjectsOf({ status }: DatabaseAccess): readonly string[] {
  return [...new Set((status.records?.objects ?? []).map(({ projectId }) => projectId))];
}
