/** Makes random values that fit a JSON schema, or break it in one place. */
import fc from "fast-check";
import { isObject, misfit, type Schema } from "./json-schema.ts";

/** A placeholder for the id of an existing object. `Pools` replaces it when the request is sent. */
export class FromPool {
  readonly name: string;
  readonly index: number;

  constructor(name: string, index: number) {
    this.name = name;
    this.index = index;
  }
}

/** Fields with meaningful values. A request with such values gets further than the check of its schema. */
const special: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  ...Object.fromEntries(
    ["project_id", "branch_id", "parent_id", "endpoint_id", "endpointId", "operation_id"].map((name) => [
      name,
      pooled(name),
    ]),
  ),
  ...Object.fromEntries(["role_name", "owner_name", "database_name", "id"].map((name) => [name, pooled(name)])),
  // The fuzzer itself uses the first key.
  key_id: fc.integer({ min: 2, max: 9 }),
  region_id: fc.constantFrom("aws-us-east-2", "aws-eu-central-1", "mars-north-1"),
  autoscaling_limit_min_cu: fc.constantFrom(0.25, 0.25, 0.5, 1),
  autoscaling_limit_max_cu: fc.constantFrom(0.25, 1, 2, 8, 0.3, 99),
  milliseconds: fc.integer({ min: 0, max: 2000 }),
  // The clock must stand still. Otherwise states would change between two reads.
  mode: fc.constant("stepped"),
  now: fc.constant("2001-01-01T00:00:00Z"),
  // A fault that applies to the fuzzer itself would look like a fault of the sandbox.
  path: fc.constant("/never/*"),
  status: fc.integer({ min: 400, max: 599 }),
};

function pooled(name: string): fc.Arbitrary<unknown> {
  return fc.nat(1000).map((index) => new FromPool(name, index));
}

/**
 * Makes values that fit a schema.
 * @param name the name of the field, which may give it a meaning
 */
export function fitting(schema: Schema, name = ""): fc.Arbitrary<unknown> {
  const own = special[name];
  if (own !== undefined && schema.properties === undefined) return own;
  const choices = schema.anyOf ?? schema.oneOf;
  // An `anyOf` beside other keywords only restricts them.
  if (choices !== undefined && schema.type === undefined) return fc.oneof(...choices.map((choice) => fitting(choice)));
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  // A value fits if its parts fit. A placeholder for an id does not look like an id yet.
  if (schema.type === "object" || schema.type === "array") return ofType(schema);
  return ofType(schema).filter((value) => misfit(schema, value) === undefined);
}

function ofType(schema: Schema): fc.Arbitrary<unknown> {
  const { minimum = -1000, maximum = 1000, exclusiveMinimum = minimum } = schema;
  switch (schema.type) {
    case "object":
      return objectOf(schema);
    case "array":
      return fc.array(fitting(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 3 });
    case "integer":
      return fc.integer({ min: Math.max(minimum, -(2 ** 31)), max: Math.min(maximum, 2 ** 31 - 1) });
    case "number":
      return fc.double({ min: exclusiveMinimum, max: Math.max(maximum, exclusiveMinimum), noNaN: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      if (schema.pattern !== undefined && !isForNames(schema.pattern))
        return fc.stringMatching(new RegExp(schema.pattern));
      return fc.string({ minLength: schema.minLength ?? 0, maxLength: Math.min(schema.maxLength ?? 20, 20) });
  }
}

/** Whether nearly every text fits the pattern. If so, trying random texts is faster than building one. */
function isForNames(pattern: string): boolean {
  return pattern.startsWith("^[ -~");
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, fitting(field, name)]));
  const declared = fc.record(fields, { requiredKeys: [...required] });
  if (isObject(additionalProperties)) {
    return fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), fitting(additionalProperties), { maxKeys: 3 });
  }
  // Unknown fields are ignored, as the real control plane ignores them.
  const strange = fc.constantFrom<Record<string, unknown>>(
    {},
    {},
    { unknown_field: 1 },
    { nested: { unknown: [null] } },
  );
  return fc.tuple(declared, strange).map(([value, more]) => ({ ...more, ...value }));
}

const misfits: readonly unknown[] = [
  ...[null, true, 5, 0.5, -1e9, 1e300, "", "x", "\u0000", "\u{1F600}".repeat(3), "y".repeat(5000), [], [[]], {}],
  ...[{ length: 1 }, "1", "true"],
];

/** Makes every wrong form of one field of a value: another value, or no value for a required field. */
export function breakages(schema: Schema, value: unknown): readonly unknown[] {
  const replaced = misfits.filter((wrong) => misfit(schema, wrong) !== undefined);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices === undefined || schema.type !== undefined) return [...replaced, ...breakagesInside(schema, value)];
  // A value that does not fit one choice may fit another choice.
  const inside = choices.flatMap((choice) => breakagesInside(choice, value));
  return [...replaced, ...inside.filter((broken) => misfit(schema, broken) !== undefined)];
}

function breakagesInside({ properties = {}, required = [], items }: Schema, value: unknown): readonly unknown[] {
  if (Array.isArray(value) && items !== undefined && value.length > 0) {
    return breakages(items, value[0]).map((broken) => [broken, ...value.slice(1)]);
  }
  if (!isObject(value)) return [];
  return Object.entries(properties).flatMap(([name, field]) => {
    const { [name]: present, ...rest } = value;
    const wrong = breakages(field, present).map((broken) => ({ ...value, [name]: broken }));
    return required.includes(name) ? [rest, ...wrong] : wrong;
  });
}
