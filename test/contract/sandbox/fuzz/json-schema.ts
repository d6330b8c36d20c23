/** Checks a value against a JSON schema, by code that the server does not use. */
import { Ajv2020 } from "ajv/dist/2020.js";

/** The keywords of JSON Schema from which random values are made. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minItems?: number;
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
}

const ajv = new Ajv2020({ strictSchema: true, strictTypes: false, strictTuples: false, validateFormats: false });

/** Returns why a value does not fit; `undefined`: it fits. @throws Error for a keyword that does not exist */
export function misfit(schema: object, value: unknown, at = "value"): string | undefined {
  const validate = ajv.compile(schema);
  if (validate(value)) return undefined;
  const [{ instancePath, message } = { instancePath: "", message: "" }] = validate.errors ?? [];
  return `${at}${instancePath} ${message}`;
}

/** Whether a value is an object and not a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
