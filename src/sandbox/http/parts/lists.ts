/** Makes list answers: pages, sorting, cursors, and JSON that is written once and reused. */
import { z } from "zod";
import { cursorModulus, type OperationPosition } from "../../engine/store.ts";
import { ApiError } from "./errors.ts";

/** Digits only; `Number()` would also accept an empty text or `1e2`. */
export function queryInteger(least: number, most: number) {
  const asNumber = (text: unknown): unknown =>
    typeof text === "string" && /^\d{1,16}$/.test(text) ? Number(text) : text;
  return z.preprocess(asNumber, z.int().min(least).max(most));
}

export const pageQuery = (longest: number) =>
  z.object({
    limit: queryInteger(1, longest).optional(),
    cursor: z
      .string()
      .regex(/^\d{1,15}$/, "is not the cursor of an earlier page of this list")
      .optional(),
    search: z.string().max(256).optional(),
  });

export interface Page<R> {
  readonly items: readonly R[];
  /** The cursor after the last record of the page; `undefined`: the page is empty. */
  readonly pagination: { readonly cursor: string } | undefined;
}

/** The cursor is the `sequence` of the page's last record, so it stays valid if that record is deleted. */
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
  const last = items.at(-1);
  return { items, pagination: last && { cursor: last.sequence.toString() } };
}

interface Sortable {
  readonly id: string;
  readonly name: string;
  readonly sequence: number;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** Both `undefined`: in the order of creation. If only one is given, the other is `updated_at` or `desc`. */
export interface Sorting {
  readonly sort_by?: "name" | "created_at" | "updated_at" | undefined;
  readonly sort_order?: "asc" | "desc" | undefined;
}

/** The cursor holds sort key and `sequence`, so it stays valid if the record is deleted. @throws ApiError 400 */
export function sortedPage<R extends Sortable>(
  records: readonly R[],
  {
    limit = Number.POSITIVE_INFINITY,
    cursor,
    search = "",
    ...sorting
  }: z.output<ReturnType<typeof pageQuery>> & Sorting,
): { readonly items: readonly R[]; readonly pagination: object | undefined } {
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
  const next = last === undefined || page.length === found.length ? {} : { next: cursorTextOf(last) };
  const pagination = { ...next, ...(isSorted && { sort_by: by, sort_order: order }) };
  return {
    items: page.map(({ record }) => record),
    pagination: Object.keys(pagination).length > 0 ? pagination : undefined,
  };
}

interface Place {
  readonly key: string | number;
  readonly sequence: number;
}

function cursorTextOf({ key, sequence }: Place): string {
  return Buffer.from(JSON.stringify([key, sequence])).toString("base64url");
}

function placeOf(cursor: string): Place {
  const shape = z.tuple([z.union([z.string(), z.number()]), z.int()]);
  try {
    const [key, sequence] = shape.parse(JSON.parse(Buffer.from(cursor, "base64url").toString()));
    return { key, sequence };
  } catch {
    throw new ApiError(400, "cursor: is not the cursor of an earlier page of this list");
  }
}

/** A record never changes in place, so its JSON is made once. `of` also reuses the bytes of an unchanged list. */
export class ListBody<R extends object> {
  readonly #field: string;
  readonly #view: (record: R) => unknown;
  readonly #texts = new WeakMap<R, string>();
  readonly #bodies = new WeakMap<readonly R[], Buffer>();

  /** @param view shows a record; its result must depend on the record alone */
  constructor(field: string, view: (record: R) => unknown) {
    this.#field = field;
    this.#view = view;
  }

  of(records: readonly R[]): Buffer {
    const known = this.#bodies.get(records);
    if (known !== undefined) return known;
    const body = this.#write(records, "");
    this.#bodies.set(records, body);
    return body;
  }

  with(records: readonly R[], more: Readonly<Record<string, unknown>>): Buffer {
    const rest = Object.entries(more).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`);
    return this.#write(records, rest.join(""));
  }

  #write(records: readonly R[], rest: string): Buffer {
    const texts = records.map((record) => this.#textOf(record));
    return Buffer.from(`{${JSON.stringify(this.#field)}:[${texts.join(",")}]${rest}}`);
  }

  #textOf(record: R): string {
    const known = this.#texts.get(record);
    if (known !== undefined) return known;
    const text = JSON.stringify(this.#view(record));
    this.#texts.set(record, text);
    return text;
  }
}

/**
 * Writes a position as a timestamp with nine fractional digits. The first three are milliseconds. The other six are the
 * last digits of the sequence number, which differ for operations of the same millisecond. None of its characters needs
 * escaping in a query.
 */
export function cursorOf({ createdMs, sequence }: OperationPosition): string {
  const tail = String(sequence % cursorModulus).padStart(6, "0");
  return new Date(createdMs).toISOString().replace("Z", `${tail}Z`);
}

export const cursorPattern =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

export function parseCursor(cursor: string): OperationPosition | undefined {
  const [, seconds, fraction = "", zone] = cursorPattern.exec(cursor) ?? [];
  const digits = fraction.padEnd(9, "0");
  const createdMs = seconds === undefined ? Number.NaN : Date.parse(`${seconds}.${digits.slice(0, 3)}${zone}`);
  return Number.isNaN(createdMs) ? undefined : { createdMs, sequence: Number(digits.slice(3)) };
}
