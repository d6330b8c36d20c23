import type { z } from "zod";
import { wireIdOnly } from "./wire.ts";

/** The entries of one list, each parsed by itself. */
export interface ListEntries<Entry> {
  readonly entries: readonly Entry[];
  /** Ids of entries that do not fit the schema, in the order of the list; "" for an entry without a readable id. */
  readonly unreadableIds: readonly string[];
}

/** Parses each entry of a list. An entry that does not fit is left out and reported by its id. Never throws. */
export function readEntries<Entry>(list: readonly unknown[], schema: z.ZodType<Entry>): ListEntries<Entry> {
  const entries: Entry[] = [];
  const unreadableIds: string[] = [];
  for (const item of list) {
    const parsed = schema.safeParse(item);
    if (parsed.success) {
      entries.push(parsed.data);
    } else {
      unreadableIds.push(wireIdOnly.safeParse(item).data?.id ?? "");
    }
  }
  return { entries, unreadableIds };
}
