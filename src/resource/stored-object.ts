import { z } from "zod";
import type { StoredIdentity } from "../domain/resource-store.ts";
import { annotations } from "./names.ts";

/** What every custom resource has, whatever its kind. Everything in it is as the API server stored it. */
export interface StoredObject extends StoredIdentity {
  readonly generation: number;
  /** RFC 3339. */
  readonly creationTimestamp: string;
  /** RFC 3339; `undefined`: it is not being deleted. */
  readonly deletionTimestamp: string | undefined;
  readonly finalizers: readonly string[];
  /** Those of the operator's own prefix. Annotations of other programs are left out: they would only cost memory. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** A stored object in parts: the schemas of its kind read `spec` and `status`. */
export interface StoredParts {
  readonly object: StoredObject;
  readonly spec: unknown;
  readonly status: unknown;
}

const ownAnnotations: ReadonlySet<string> = new Set(Object.values(annotations));

/**
 * Makes the parser of one kind.
 *
 * The parser throws ZodError when the object is of another kind, or its metadata is not that of a stored namespaced object.
 */
export function storedObjectParser(kind: string): (stored: unknown) => StoredParts {
  const schema = z.object({
    kind: z.literal(kind).optional(),
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
  return (stored) => {
    const { metadata, spec, status } = schema.parse(stored);
    const own = Object.entries(metadata.annotations).filter(([name]) => ownAnnotations.has(name));
    const object = {
      key: { namespace: metadata.namespace, name: metadata.name },
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      generation: metadata.generation,
      creationTimestamp: metadata.creationTimestamp,
      deletionTimestamp: metadata.deletionTimestamp,
      finalizers: metadata.finalizers,
      annotations: Object.fromEntries(own),
    };
    return { object, spec, status };
  };
}

/** A spec as it was stored: the schema may have become stricter since. */
export type ParsedAs<Spec> =
  | { readonly kind: "Valid"; readonly spec: Spec }
  /** `problems` is one line that names every bad field. */
  | { readonly kind: "Invalid"; readonly problems: string };

/** Reads a spec with the schema of its kind. A spec that does not fit is part of the result, not an error. */
export function parseSpecAs<Spec>(schema: z.ZodType<Spec>, spec: unknown): ParsedAs<Spec> {
  const parsed = schema.safeParse(spec);
  return parsed.success
    ? { kind: "Valid", spec: parsed.data }
    : { kind: "Invalid", problems: parsed.error.issues.map(problemOf).join("; ") };
}

function problemOf({ path, message }: z.core.$ZodIssue): string {
  return `spec${path.map((part) => `.${String(part)}`).join("")}: ${message}`;
}
