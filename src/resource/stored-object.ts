import { z } from "zod";
import type { StoredIdentity } from "../domain/resource-store.ts";
import { annotations, group } from "./names.ts";

export interface StoredObject extends StoredIdentity {
  readonly generation: number;
  readonly creationTimestamp: string;
  /** When its deletion was requested, RFC 3339; `undefined`: it is not being deleted. */
  readonly deletionTimestamp?: string | undefined;
  readonly finalizers: readonly string[];
  /** The annotations of our prefix. All others are left out to save memory. */
  readonly annotations: Readonly<Record<string, string>>;
}

export function isBeingDeleted(resource: StoredObject): boolean {
  return resource.deletionTimestamp !== undefined;
}

export function isPaused(resource: StoredObject): boolean {
  return resource.annotations[annotations.paused] === "true";
}

interface StoredParts {
  readonly object: StoredObject;
  readonly spec: unknown;
  readonly status: unknown;
}

/** The namespace of an object of the cluster is "". @throws ZodError when kind or metadata do not fit */
export function storedObjectParser(kind: string): (stored: unknown) => StoredParts {
  const schema = z.object({
    kind: z.literal(kind).optional(),
    metadata: z.object({
      name: z.string(),
      namespace: z.string().default(""),
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
    const { namespace, name, annotations: all, ...rest } = metadata;
    const own = Object.entries(all).filter(([name]) => name.startsWith(`${group}/`));
    return { object: { ...rest, key: { namespace, name }, annotations: Object.fromEntries(own) }, spec, status };
  };
}

/** A stored spec, parsed. It may be invalid, because the schema may have become stricter since it was stored. */
export type ParsedAs<Spec> =
  | { readonly kind: "Valid"; readonly spec: Spec }
  /** The spec does not fit the schema. `problems` is one line that names every wrong field. */
  | { readonly kind: "Invalid"; readonly problems: string };

/** Parses each field by itself, so that a wrong one does not hide the others. A wrong field is left out. */
export function readableFields<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  stored: unknown,
): Partial<z.output<z.ZodObject<Shape>>> {
  const fields = fieldsOf(stored);
  const read = Object.entries(schema.shape).flatMap(([name, part]) => {
    const { data } = (part as z.ZodType).safeParse(fields[name]);
    return data === undefined ? [] : [[name, data]];
  });
  return Object.fromEntries(read) as Partial<z.output<z.ZodObject<Shape>>>;
}

/** Returns the members of a stored spec or status; none if it is not an object. */
export function fieldsOf(stored: unknown): Readonly<Record<string, unknown>> {
  const isObject = typeof stored === "object" && stored !== null && !Array.isArray(stored);
  return isObject ? (stored as Record<string, unknown>) : {};
}

export function parseSpecAs<Spec>(schema: z.ZodType<Spec>, spec: unknown): ParsedAs<Spec> {
  const parsed = schema.safeParse(spec);
  return parsed.success
    ? { kind: "Valid", spec: parsed.data }
    : { kind: "Invalid", problems: parsed.error.issues.map(problemOf).join("; ") };
}

function problemOf({ path, message }: z.core.$ZodIssue): string {
  return `spec${path.map((part) => `.${String(part)}`).join("")}: ${message}`;
}
