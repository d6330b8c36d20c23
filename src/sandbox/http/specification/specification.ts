/** The pruned specification of the public API, `public-api.json`, which `npm run generate` makes. */
import { z } from "zod";
import file from "./public-api.json" with { type: "json" };

/** A JSON schema of draft 2020-12, the version that OpenAPI 3.1 uses. In the file, `$ref` names a schema of the file. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

/** An operation of the public API. For groups that the sandbox does not play, the file has no more than its path. */
export interface PublicOperation {
  readonly id: string;
  readonly method: string;
  /** The path with its parameters in braces. */
  readonly path: string;
  readonly tag: string;
  /** The query as an object. */
  readonly query?: JsonSchema;
  readonly body?: JsonSchema;
  /** The schemas of the answers by status; `null`: no body. */
  readonly answers?: Readonly<Record<string, JsonSchema | null>>;
}

const { schemas, ...specification } = file as unknown as {
  readonly operations: readonly PublicOperation[];
  readonly schemas: Readonly<Record<string, JsonSchema>>;
};

export const { operations } = specification;

/** Returns a schema without `$ref` and `allOf`, at every depth. */
export function resolved({ $ref, allOf = [], ...own }: JsonSchema): JsonSchema {
  if ($ref !== undefined) return resolved(schemas[$ref] ?? {});
  const parts = allOf.map(resolved);
  const { properties, items, additionalProperties, anyOf, required } = own;
  const allRequired = [required ?? [], ...parts.map((part) => part.required ?? [])].flat();
  const allProperties = [...parts.map((part) => part.properties ?? {}), mapped(properties ?? {})];
  return {
    ...Object.assign({}, ...parts),
    ...own,
    ...(allRequired.length > 0 && { required: allRequired }),
    ...(allProperties.some((each) => Object.keys(each).length > 0) && {
      properties: Object.assign({}, ...allProperties),
    }),
    ...(items && { items: resolved(items) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: resolved(additionalProperties) }),
    ...(anyOf && { anyOf: anyOf.map(resolved) }),
  };
}

function mapped(properties: Readonly<Record<string, JsonSchema>>): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, resolved(schema)]));
}

/** Returns the JSON schema of a request, from the schema that checks it. */
export function jsonSchema(schema: z.ZodType, io: "input" | "output" = "input"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: "draft-2020-12", io });
  return rest as JsonSchema;
}

/**
 * Returns what the specification has and the schema of a request lacks, each with its path: fields
 * (`branch.parent_lsn`, `endpoints.*.settings`), and values of an enumeration (`granularity=hourly`).
 */
export function lackingIn(schema: z.ZodType | undefined, specified: JsonSchema | undefined): readonly string[] {
  if (specified === undefined) return [];
  return gaps(resolved(specified), schema === undefined ? [] : [jsonSchema(schema)], []);
}

/** @param known the alternatives that the sandbox knows at this place */
function gaps(specified: JsonSchema, known: readonly JsonSchema[], path: readonly string[]): readonly string[] {
  const own = known.flatMap((each) => [each, ...(each.anyOf ?? [])]);
  const values = own.flatMap((each) => each.enum ?? (each.const === undefined ? [] : [each.const]));
  const all = specified.type === "boolean" && values.length > 0 ? ["true", "false"] : (specified.enum ?? []);
  const missing = values.length === 0 ? [] : all.filter((value) => !values.includes(value));
  const inside = Object.entries(specified.properties ?? {}).flatMap(([name, field]) => {
    const fields = own.flatMap((each) => each.properties?.[name] ?? []);
    return fields.length === 0 ? [[...path, name].join(".")] : gaps(field, fields, [...path, name]);
  });
  const items = specified.items && own.flatMap((each) => each.items ?? []);
  return [
    ...missing.map((value) => `${path.join(".")}=${String(value)}`),
    ...inside,
    ...(specified.items && items && items.length > 0 ? gaps(specified.items, items, [...path, "*"]) : []),
  ];
}
