/** Checks a value against a JSON schema. */

/**
 * The keywords of JSON Schema that the sandbox's document uses. The check is written here, so that the server's own
 * code does not check itself.
 */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly propertyNames?: Schema;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly default?: unknown;
}

const known = new Set<string>([
  ...["type", "properties", "required", "additionalProperties", "propertyNames", "items", "minItems", "maxItems"],
  ...["enum", "const", "anyOf", "oneOf", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength"],
  ...["pattern", "format", "default"],
]);

/**
 * Returns why a value does not fit; `undefined`: it fits.
 * @throws Error for a keyword that this file does not know
 */
export function misfit(schema: Schema, value: unknown, at = "value"): string | undefined {
  const unknownWord = Object.keys(schema).find((word) => !known.has(word));
  if (unknownWord !== undefined) throw new Error(`${at}: this test does not know the keyword ${unknownWord}`);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices?.every((choice) => misfit(choice, value, at) !== undefined)) {
    return `${at}: fits none of the choices`;
  }
  if (schema.type !== undefined && ![schema.type].flat().includes(typeOf(value, schema.type))) {
    return `${at}: is ${typeOf(value, schema.type)}, not ${schema.type}`;
  }
  if ("const" in schema && schema.const !== value) return `${at}: is not ${JSON.stringify(schema.const)}`;
  if (schema.enum?.includes(value) === false) return `${at}: is none of the values`;
  if (typeof value === "number") return numberMisfit(schema, value, at);
  if (typeof value === "string") return textMisfit(schema, value, at);
  if (Array.isArray(value)) return listMisfit(schema, value, at);
  return isObject(value) ? objectMisfit(schema, value, at) : undefined;
}

function numberMisfit({ minimum, maximum, exclusiveMinimum }: Schema, value: number, at: string): string | undefined {
  if (!Number.isFinite(value)) return `${at}: is not finite`;
  const isLow = value < (minimum ?? value) || (exclusiveMinimum !== undefined && value <= exclusiveMinimum);
  return isLow || value > (maximum ?? value) ? `${at}: ${value} is out of range` : undefined;
}

function textMisfit({ minLength = 0, maxLength, pattern }: Schema, value: string, at: string): string | undefined {
  const length = [...value].length;
  if (length < minLength || length > (maxLength ?? length)) return `${at}: has ${length} characters`;
  return pattern === undefined || new RegExp(pattern, "u").test(value) ? undefined : `${at}: is not like ${pattern}`;
}

function listMisfit({ items, minItems = 0, maxItems }: Schema, value: readonly unknown[], at: string) {
  if (value.length < minItems || value.length > (maxItems ?? value.length)) return `${at}: has ${value.length} items`;
  return firstOf(items === undefined ? [] : value.map((item, index) => misfit(items, item, `${at}[${index}]`)));
}

function objectMisfit(schema: Schema, value: Readonly<Record<string, unknown>>, at: string): string | undefined {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${at}.${missing}: is missing`;
  return firstOf(
    Object.entries(value).map(([name, field]) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (own !== undefined) return misfit(own, field, `${at}.${name}`);
      if (additionalProperties === false) return `${at}.${name}: is not documented`;
      return additionalProperties === true ? undefined : misfit(additionalProperties, field, `${at}.${name}`);
    }),
  );
}

function firstOf(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((problem) => problem !== undefined);
}

/** Whether a value is an object and not a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns the type of a value. A whole number has the type integer if the schema asks for an integer, else the type
 * number.
 */
function typeOf(value: unknown, wanted: Schema["type"]): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value !== "number") return typeof value;
  return [wanted].flat().includes("integer") && Number.isInteger(value) ? "integer" : "number";
}
