/** Parses the answers of the control plane, and refuses answers about another object. */
import type { z } from "zod";
import { parseJson } from "../http/exchange.ts";
import { wireIdOnly, wireNameOnly } from "./wire.ts";

/** A complete 2xx answer whose content cannot be used. The message is the end of the sentence "answered with …". */
export class UnusableContentError extends Error {
  override readonly name = "UnusableContentError";
}

/** Parses a body by its schema. @throws UnusableContentError */
export function readAnswer<Value>(body: Uint8Array, schema: z.ZodType<Value>): Value {
  const json = parseJson(body);
  if (json === undefined) {
    throw new UnusableContentError(body.length === 0 ? "an empty body" : "something that is not JSON");
  }
  const parsed = schema.safeParse(json.value);
  if (parsed.success) {
    return parsed.data;
  }
  const issue = parsed.error.issues[0];
  throw new UnusableContentError(`unexpected JSON at ${pathText(issue?.path ?? [])}: ${issue?.message ?? "unknown"}`);
}

/**
 * Refuses an answer about another object. A list must contain only objects of the requested project, and a read only
 * the requested object.
 * @param field the field that must equal `value` in each object.
 * @param otherwise what the answer is about otherwise, for the message.
 * @throws UnusableContentError
 */
export function expectEach<Field extends string>(
  objects: readonly Readonly<Record<Field, string>>[],
  { field, value, otherwise }: { readonly field: Field; readonly value: string; readonly otherwise: string },
): void {
  if (objects.some((object) => object[field] !== value)) {
    throw new UnusableContentError(otherwise);
  }
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
