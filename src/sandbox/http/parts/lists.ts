import { z } from "zod";
import { cursorModulus, type OperationPosition } from "../../engine/store.ts";
import { ApiError } from "./errors.ts";

/** A whole number in a query: digits and nothing else, where JavaScript would also take an empty text or `1e2`. */
export function queryInteger(least: number, most: number) {
  const asNumber = (text: unknown): unknown =>
    typeof text === "string" && /^\d{1,16}$/.test(text) ? Number(text) : text;
  return z.preprocess(asNumber, z.int().min(least).max(most));
}

/** Query of a list with pages. @param longest the largest page, and the page if the request names no `limit` */
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
 * the last record of the page, so a client keeps its place when that record is deleted.
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

/** A record that can be sorted in each of the ways that clients ask for. */
interface Sortable {
  readonly id: string;
  readonly name: string;
  readonly sequence: number;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** How a client wants a list sorted; `undefined` both: in the order of creation. */
export interface Sorting {
  readonly sort_by?: "name" | "created_at" | "updated_at" | undefined;
  readonly sort_order?: "asc" | "desc" | undefined;
}

/**
 * Cuts a page out of a list that clients can sort. The cursor holds the sort key of the last record and its `sequence`, so
 * a deleted record loses no client its place.
 *
 * @throws ApiError 400 for a cursor that no page of this list has given
 */
export function sortedPage<R extends Sortable>(
  records: readonly R[],
  {
    limit = Number.POSITIVE_INFINITY,
    cursor,
    search = "",
    ...sorting
  }: z.output<ReturnType<typeof pageQuery>> & Sorting,
): { readonly items: readonly R[]; readonly next: string | undefined; readonly sorting: Sorting } {
  const isSorted = sorting.sort_by !== undefined || sorting.sort_order !== undefined;
  const { sort_by: by = isSorted ? "updated_at" : "created_at", sort_order: order = isSorted ? "desc" : "asc" } =
    sorting;
  const keyOf = { name: (r: R) => r.name, created_at: (r: R) => r.createdMs, updated_at: (r: R) => r.updatedMs }[by];
  const sign = order === "asc" ? 1 : -1;
  const compare = (a: Place, b: Place): number =>
    sign * (a.key < b.key ? -1 : a.key > b.key ? 1 : a.sequence - b.sequence);
  const after = cursor === undefined ? undefined : placeOf(cursor);
  const found = records
    .filter(({ id, name }) => id.includes(search) || name.includes(search))
    .map((record) => ({ record, key: keyOf(record), sequence: record.sequence }))
    .filter((place) => after === undefined || compare(place, after) > 0)
    .sort(compare);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const next = last === undefined || page.length === found.length ? undefined : cursorTextOf(last);
  return {
    items: page.map(({ record }) => record),
    next,
    sorting: isSorted ? { sort_by: by, sort_order: order } : {},
  };
}

/** Where a record stands in a sorted list. */
interface Place {
  readonly key: string | number;
  readonly sequence: number;
}

function cursorTextOf({ key, sequence }: Place): string {
  return Buffer.from(JSON.stringify([key, sequence])).toString("base64url");
}

/** @throws ApiError 400 */
function placeOf(cursor: string): Place {
  const shape = z.tuple([z.union([z.string(), z.number()]), z.int()]);
  try {
    const [key, sequence] = shape.parse(JSON.parse(Buffer.from(cursor, "base64url").toString()));
    return { key, sequence };
  } catch {
    throw new ApiError(400, "cursor: is not one that a page of this list has given");
  }
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
 * Writes a position as a timestamp with nine fractional digits: three of milliseconds, then the last six of the sequence
 * number, which tells operations of one millisecond apart. A query may carry every character of it unescaped.
 */
export function cursorOf({ createdMs, sequence }: OperationPosition): string {
  const tail = String(sequence % cursorModulus).padStart(6, "0");
  return new Date(createdMs).toISOString().replace("Z", `${tail}Z`);
}

/** What every cursor looks like: any timestamp. A date such as February 30 looks like one and is none. */
export const cursorPattern =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** @returns `undefined` for anything that is no timestamp. */
export function parseCursor(cursor: string): OperationPosition | undefined {
  const [, seconds, fraction = "", zone] = cursorPattern.exec(cursor) ?? [];
  const digits = fraction.padEnd(9, "0");
  const createdMs = seconds === undefined ? Number.NaN : Date.parse(`${seconds}.${digits.slice(0, 3)}${zone}`);
  return Number.isNaN(createdMs) ? undefined : { createdMs, sequence: Number(digits.slice(3)) };
}
