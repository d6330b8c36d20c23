/** Parses the answers of the control plane, and refuses answers about another object. */
import type { z } from "zod";
import { parseJson } from "../http/exchange.ts";
import { wireIdOnly, wireNameOnly } from "./wire.ts";

/** The result of parsing a body: the value, or the end of the sentence "answered with …". */
export type Reading<Value> =
  | { readonly isReadable: true; readonly value: Value }
  | { readonly isReadable: false; readonly what: string };

/** Parses a body by its schema. Never throws. */
export function readAnswer<Value>(body: Uint8Array, schema: z.ZodType<Value>): Reading<Value> {
  const json = parseJson(body);
  if (json === undefined) {
    return unreadable(body.length === 0 ? "an empty body" : "something that is not JSON");
  }
  const parsed = schema.safeParse(json.value);
  if (parsed.success) {
    return { isReadable: true, value: parsed.data };
  }
  const issue = parsed.error.issues[0];
  return unreadable(`unexpected JSON at ${pathText(issue?.path ?? [])}: ${issue?.message ?? "unknown"}`);
}

/**
 * Refuses an answer about another object. A list must contain only objects of the requested project, and a read only
 * the requested object.
 * @param objects returns the objects of the answer.
 * @param field the field that must equal `expected` in each of them.
 */
export function expectEach<Value, Field extends string>(
  reading: Reading<Value>,
  objectsOf: (value: Value) => readonly Readonly<Record<Field, string>>[],
  expectation: { readonly field: Field; readonly value: string; readonly otherwise: string },
): Reading<Value> {
  if (!reading.isReadable) {
    return reading;
  }
  const isStray = objectsOf(reading.value).some((object) => object[expectation.field] !== expectation.value);
  return isStray ? unreadable(expectation.otherwise) : reading;
}

/** Converts a parsed value into another one. */
export function mapReading<From, To>(reading: Reading<From>, change: (value: From) => To): Reading<To> {
  return reading.isReadable ? { isReadable: true, value: change(reading.value) } : reading;
}

function unreadable(what: string): { readonly isReadable: false; readonly what: string } {
  return { isReadable: false, what };
}

/** Returns the path of a field, without positions in lists: they change from answer to answer. */
function pathText(path: readonly PropertyKey[]): string {
  const text = path.map((part) => (typeof part === "number" ? "[]" : `.${String(part)}`)).join("");
  return text === "" ? "the top" : text.replace(/^\./, "");
}

/** The entries of one list. Each entry is parsed by itself. */
interface ListEntries<Entry> {
  readonly entries: readonly Entry[];
  /** Ids of entries that do not fit the schema, in the order of the list; "" if the id could not be read either. */
  readonly unreadableIds: readonly string[];
  /** Names of these entries, if they have a name that can be read. */
  readonly unreadableNames: readonly string[];
}

/**
 * Parses each entry of a list. An entry that does not fit is left out, and its id and name are reported. Never throws.
 */
export function readEntries<Entry>(list: readonly unknown[], schema: z.ZodType<Entry>): ListEntries<Entry> {
  const entries: Entry[] = [];
  const unreadable: unknown[] = [];
  for (const item of list) {
    const parsed = schema.safeParse(item);
    if (parsed.success) {
      entries.push(parsed.data);
    } else {
      unreadable.push(item);
    }
  }
  return {
    entries,
    unreadableIds: unreadable.map((item) => wireIdOnly.safeParse(item).data?.id ?? ""),
    unreadableNames: unreadable.flatMap((item) => wireNameOnly.safeParse(item).data?.name ?? []),
  };
}
