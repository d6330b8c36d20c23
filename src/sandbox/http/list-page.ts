import { z } from "zod";
import { queryInteger } from "./query-integer.ts";

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
