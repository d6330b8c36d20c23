import { z } from "zod";
import type { ResourceKey, StoredIdentity } from "../domain/resource-store.ts";
import {
  type DatabaseAccessSpec,
  type DatabaseAccessStatus,
  databaseAccessSpecSchema,
  databaseAccessStatusSchema,
} from "./database-access-schema.ts";
import { annotations, databaseAccessNames } from "./names.ts";

/** A spec as it was stored: the schema may have become stricter since. */
export type ParsedAccessSpec =
  | { readonly kind: "Valid"; readonly spec: DatabaseAccessSpec }
  | { readonly kind: "Invalid"; readonly problems: string };

/** One DatabaseAccess, parsed. Everything in it is as the API server stored it. */
export interface DatabaseAccess extends StoredIdentity {
  readonly kind: "DatabaseAccess";
  readonly generation: number;
  /** RFC 3339. */
  readonly creationTimestamp: string;
  /** RFC 3339; `undefined`: it is not being deleted. */
  readonly deletionTimestamp: string | undefined;
  readonly finalizers: readonly string[];
  /** Those of the operator's own prefix. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: ParsedAccessSpec;
  readonly status: DatabaseAccessStatus;
  /** False: status cannot be parsed as a whole. The operator then deletes nothing at the control plane. */
  readonly isStatusReadable: boolean;
}

const storedSchema = z.object({
  kind: z.literal(databaseAccessNames.kind).optional(),
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    generation: z.int().default(0),
    creationTimestamp: z.string().default(""),
    deletionTimestamp: z.string().optional(),
    finalizers: z.array(z.string()).default([]),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.unknown().optional(),
  status: z.unknown().optional(),
});

const ownAnnotations: readonly string[] = Object.values(annotations);

/**
 * Reads an object of the API server. A spec or status that does not fit is part of the result, not an error.
 *
 * @throws ZodError when it is of another kind, or the metadata is not that of a stored namespaced object.
 */
export function parseDatabaseAccess(stored: unknown): DatabaseAccess {
  const { metadata, spec, status } = storedSchema.parse(stored);
  const parsedStatus = databaseAccessStatusSchema.safeParse(status ?? {});
  const given = Object.entries(metadata.annotations).filter(([name]) => ownAnnotations.includes(name));
  return {
    kind: databaseAccessNames.kind,
    key: { namespace: metadata.namespace, name: metadata.name },
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    creationTimestamp: metadata.creationTimestamp,
    deletionTimestamp: metadata.deletionTimestamp,
    finalizers: metadata.finalizers,
    annotations: Object.fromEntries(given),
    spec: parseSpec(spec),
    status: parsedStatus.data ?? {},
    isStatusReadable: parsedStatus.success,
  };
}

function parseSpec(spec: unknown): ParsedAccessSpec {
  const parsed = databaseAccessSpecSchema.safeParse(spec);
  if (parsed.success) {
    return { kind: "Valid", spec: parsed.data };
  }
  const problems = parsed.error.issues.map(({ path, message }) => `spec.${path.map(String).join(".")}: ${message}`);
  return { kind: "Invalid", problems: problems.join("; ") };
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
