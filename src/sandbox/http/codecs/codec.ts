/** Declares how a record becomes the JSON object of an answer, with the schemas that answers and requests share. */
import { z } from "zod";
import type { Usage } from "../../engine/usage.ts";

/**
 * A field in an answer: its schema, and the function that computes its value. If the value is `undefined`, the field is
 * left out.
 */
export interface ShownField<R, S extends z.ZodType = z.ZodType> {
  readonly schema: S;
  readonly of: (record: R) => z.output<S>;
}

export interface Codec<R, B extends z.ZodRawShape> {
  /** The schema of a shown record. */
  readonly body: z.ZodObject<B>;
  /**
   * Returns a function that converts a record into its answer. The result depends on the record alone.
   * @param hidden the fields to leave out
   */
  viewer(hidden?: readonly string[]): (record: R) => z.output<z.ZodObject<B>>;
}

/** Returns a function that declares a field of `R`. */
export function fieldsOf<R>() {
  return <S extends z.ZodType>(schema: S, of: (record: R) => z.output<S>): ShownField<R, S> => ({ schema, of });
}

export function codecOf<R>() {
  return <F extends Readonly<Record<string, ShownField<R>>>>(fields: F): Codec<R, BodyShape<F>> => {
    const shape = Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]));
    const body = z.object(shape as BodyShape<F>);
    const viewer = (hidden: readonly string[] = []) => {
      const shown = Object.entries(fields).filter(([name]) => !hidden.includes(name));
      return (record: R) => {
        const view: Record<string, unknown> = {};
        for (const [name, { of }] of shown) {
          const value = of(record);
          if (value !== undefined) view[name] = value;
        }
        return view as z.output<typeof body>;
      };
    };
    return { body, viewer };
  };
}

/** The schemas of fields, by name. */
type BodyShape<F extends Readonly<Record<string, { readonly schema: z.ZodType }>>> = {
  [Name in keyof F]: F[Name]["schema"];
};

/** The schema of a time in an answer: ISO 8601 UTC. */
export const timestamp = z.string();

/** Converts epoch milliseconds to ISO 8601 UTC. */
export function timeText(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Converts like `timeText`; `undefined` stays `undefined`. */
export function optionalTime(epochMs: number | undefined): string | undefined {
  return epochMs === undefined ? undefined : timeText(epochMs);
}

export function stampFields<R extends { readonly createdMs: number; readonly updatedMs: number }>() {
  const field = fieldsOf<R>();
  return {
    created_at: field(timestamp, ({ createdMs }) => timeText(createdMs)),
    updated_at: field(timestamp, ({ updatedMs }) => timeText(updatedMs)),
  };
}

/** Returns the fields with the running time of computes in the present month, in whole seconds. */
export function usageFields<R extends { readonly usage: Usage }>() {
  const field = fieldsOf<R>();
  const computeSeconds = field(z.int(), ({ usage }) => Math.floor(usage.unitMs / 1000));
  return {
    compute_time_seconds: computeSeconds,
    active_time_seconds: field(z.int(), ({ usage }) => Math.floor(usage.activeMs / 1000)),
    cpu_used_sec: computeSeconds,
  };
}

/** The schema of an id in a request. */
export const objectId = z.string().regex(/^[a-z0-9-]{1,60}$/, "must be 1 to 60 of a-z, 0-9 and -");

/** The schema of a time in a request, with or without fractions of a second, in any time zone. */
export const givenTime = z.iso.datetime({ offset: true });

/** Converts ISO 8601 to epoch milliseconds; `undefined` stays `undefined`. */
export function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

/** The form of every error answer. @see docs/sandbox.md "Errors" */
export const errorBody = z.object({ request_id: z.string(), code: z.string(), message: z.string() });

/** The error answers of a route, for its response schemas. */
export const errorResponses = { "4xx": errorBody } as const;

export const projectPath = z.object({ project_id: z.string() });
export const branchPath = projectPath.extend({ branch_id: z.string() });
export const endpointPath = projectPath.extend({ endpoint_id: z.string() });
export const operationPath = projectPath.extend({ operation_id: z.string() });
export const rolePath = branchPath.extend({ role_name: z.string() });
/** The path parameters of a database's route. */
export const databasePath = branchPath.extend({ database_name: z.string() });
