import { z } from "zod";

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
