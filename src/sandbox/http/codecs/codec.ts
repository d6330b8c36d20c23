import { z } from "zod";
import type { Usage } from "../../engine/usage.ts";

/** A field as clients read it: its schema, and where its value comes from. `undefined`: the field is left out. */
export interface ShownField<R, S extends z.ZodType = z.ZodType> {
  readonly schema: S;
  readonly of: (record: R) => z.output<S>;
}

/** Shows records of one kind to clients. */
export interface Codec<R, B extends z.ZodRawShape> {
  /** What clients read. */
  readonly body: z.ZodObject<B>;
  /** @param hidden fields to leave out. @returns how to show a record; the result depends on the record alone. */
  viewer(hidden?: readonly string[]): (record: R) => z.output<z.ZodObject<B>>;
}

/** Declares fields of `R`, so that the compiler checks each value against its schema. */
export function fieldsOf<R>() {
  return <S extends z.ZodType>(schema: S, of: (record: R) => z.output<S>): ShownField<R, S> => ({ schema, of });
}

/** Makes a codec of `R` from its fields, in the order in which clients read them. */
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

/** ISO 8601 UTC, as every time of the API. */
export const timestamp = z.string();

/** Epoch milliseconds → ISO 8601 UTC. */
export function timeText(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** As `timeText`; `undefined` stays. */
export function optionalTime(epochMs: number | undefined): string | undefined {
  return epochMs === undefined ? undefined : timeText(epochMs);
}

/** When a record was made and last changed: the last two fields of almost every object. */
export function stampFields<R extends { readonly createdMs: number; readonly updatedMs: number }>() {
  const field = fieldsOf<R>();
  return {
    created_at: field(timestamp, ({ createdMs }) => timeText(createdMs)),
    updated_at: field(timestamp, ({ updatedMs }) => timeText(updatedMs)),
  };
}

/** How long computes ran, in whole seconds: what projects and branches show. */
export function usageFields<R extends { readonly usage: Usage }>() {
  const field = fieldsOf<R>();
  const computeSeconds = field(z.int(), ({ usage }) => Math.floor(usage.unitMs / 1000));
  return {
    compute_time_seconds: computeSeconds,
    active_time_seconds: field(z.int(), ({ usage }) => Math.floor(usage.activeMs / 1000)),
    cpu_used_sec: computeSeconds,
  };
}

/** An id as clients give it. */
export const objectId = z.string().regex(/^[a-z0-9-]{1,60}$/, "must be 1 to 60 of a-z, 0-9 and -");

/** A time as clients give it, with or without fractions, in any zone. */
export const givenTime = z.iso.datetime({ offset: true });

/** ISO 8601 → epoch milliseconds; `undefined` stays. */
export function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

/** The one shape of every error. @see docs/sandbox.md "Errors" */
export const errorBody = z.object({ request_id: z.string(), code: z.string(), message: z.string() });

/** Errors of a route, for its response schemas. */
export const errorResponses = { "4xx": errorBody } as const;

/** Path parameters. */
export const projectPath = z.object({ project_id: z.string() });
/** Path parameters. */
export const branchPath = projectPath.extend({ branch_id: z.string() });
/** Path parameters. */
export const endpointPath = projectPath.extend({ endpoint_id: z.string() });
/** Path parameters. */
export const operationPath = projectPath.extend({ operation_id: z.string() });
/** Path parameters. */
export const rolePath = branchPath.extend({ role_name: z.string() });
/** Path parameters. */
export const databasePath = branchPath.extend({ database_name: z.string() });
