/** Limits how many items are worked on at the same time. */

/**
 * Does the work for each item, at most `limit` items at the same time. If any item fails, it rejects with the first
 * error after all have ended.
 */
export async function inParallel<Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = [...items].reverse();
  const workers = Array.from({ length: Math.min(limit, rest.length) }, async () => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) {
      await work(item);
    }
  });
  const results = await Promise.allSettled(workers);
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) {
    throw failed.reason;
  }
}
