import { z } from "zod";
import type { OperationPosition } from "../../engine/store.ts";

/** A whole number in a query: digits and nothing else, where JavaScript would also take an empty text or `1e2`. */
export function queryInteger(least: number, most: number) {
  const asNumber = (text: unknown): unknown =>
    typeof text === "string" && /^\d{1,16}$/.test(text) ? Number(text) : text;
  return z.preprocess(asNumber, z.int().min(least).max(most));
}

/** Query of a list that comes in pages. `longest` is also the page of who names none. */
export const pageQuery = (longest: number) =>
  z.object({
    limit: queryInteger(1, longest).optional(),
    cursor: z
      .string()
      .regex(/^\d{1,15}$/, "is not one that a page of this list has given")
      .optional(),
    search: z.string().max(256).optional(),
  });

/** One page of a list that is ordered by `sequence`. */
export interface Page<R> {
  readonly items: readonly R[];
  /** Where the page ends; `undefined`: it is empty. */
  readonly cursor: string | undefined;
  readonly isLast: boolean;
}

/**
 * Cuts a page out of a list: records whose id or name holds `search`, after the cursor. The cursor is the `sequence` of
 * the last record seen, so that a deleted one loses nobody's place.
 */
export function pageOf<R extends { readonly sequence: number; readonly id: string; readonly name: string }>(
  records: readonly R[],
  query: z.output<ReturnType<typeof pageQuery>>,
): Page<R> {
  const { limit = Number.POSITIVE_INFINITY, cursor, search } = query;
  const found = records.filter(
    ({ sequence, id, name }) =>
      sequence > Number(cursor ?? -1) && (search === undefined || id.includes(search) || name.includes(search)),
  );
  const items = found.slice(0, limit);
  return { items, cursor: items.at(-1)?.sequence.toString(), isLast: items.length === found.length };
}

/** What the bodies of one list are made of. */
export interface ListShape<R> {
  /** Under which the list stands in the body. */
  readonly field: string;
  /** Of one record as it is shown; each is checked by it once. */
  readonly schema: z.ZodType;
  /** Depends on the record alone. */
  readonly view: (record: R) => unknown;
}

/**
 * Writes lists of records as JSON bodies. A record is never changed in place, so each is shown, checked and written
 * once for as long as it lives, and a list that has not changed is sent again as it is. Otherwise a list would cost as
 * much for every record as a read of that record.
 */
export class ListBody<R extends object> {
  readonly #shape: ListShape<R>;
  readonly #texts = new WeakMap<R, string>();
  readonly #bodies = new WeakMap<readonly R[], Buffer>();

  constructor(shape: ListShape<R>) {
    this.#shape = shape;
  }

  /** `{"<field>": [...]}`. */
  of(records: readonly R[]): Buffer {
    const known = this.#bodies.get(records);
    if (known !== undefined) return known;
    const body = this.#write(records, "");
    this.#bodies.set(records, body);
    return body;
  }

  /** `{"<field>": [...], ...more}`. */
  with(records: readonly R[], more: Readonly<Record<string, unknown>>): Buffer {
    const rest = Object.entries(more).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`);
    return this.#write(records, rest.join(""));
  }

  #write(records: readonly R[], rest: string): Buffer {
    const texts = records.map((record) => this.#textOf(record));
    return Buffer.from(`{${JSON.stringify(this.#shape.field)}:[${texts.join(",")}]${rest}}`);
  }

  #textOf(record: R): string {
    const known = this.#texts.get(record);
    if (known !== undefined) return known;
    const text = JSON.stringify(z.encode(this.#shape.schema, this.#shape.view(record)));
    this.#texts.set(record, text);
    return text;
  }
}

/** Of every body that is written here. */
export const jsonType = "application/json; charset=utf-8";

/**
 * Writes a position as a timestamp with fractional seconds: three digits of milliseconds, then the sequence number that
 * tells siblings apart. Holds only characters that a query may carry unescaped.
 */
export function cursorOf({ createdMs, sequence }: OperationPosition): string {
  return new Date(createdMs).toISOString().replace("Z", `${String(sequence).padStart(9, "0")}Z`);
}

/** What every cursor looks like; not everything that looks like it is one. */
export const cursorPattern =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3})(\d{0,15})Z$/;

/** @returns `undefined` for anything that is not such a timestamp. */
export function parseCursor(cursor: string): OperationPosition | undefined {
  const match = cursorPattern.exec(cursor);
  const createdMs = match === null ? Number.NaN : Date.parse(`${match[1]}Z`);
  return Number.isNaN(createdMs) ? undefined : { createdMs, sequence: Number(match?.[2] ?? 0) };
}
