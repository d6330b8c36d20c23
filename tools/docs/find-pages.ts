/** Searches the documentation. */

/** The part of a page below one heading, which search can find. */
export interface SearchEntry {
  /** The address relative to the site's root, with the anchor of the heading. */
  readonly url: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

/**
 * Finds the parts of pages that hold every word of the query. Words in a heading count more than words in the text. It
 * also runs in the browser.
 * @returns at most `limit` entries, the best first; none for an empty query.
 */
export function findPages(entries: readonly SearchEntry[], query: string, limit: number): readonly SearchEntry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const scored = entries.map((entry) => {
    const heading = `${entry.page} ${entry.heading}`.toLowerCase();
    const text = entry.text.toLowerCase();
    const scores = words.map((word) => (heading.includes(word) ? 10 : 0) + Math.min(text.split(word).length - 1, 5));
    return { entry, score: scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score, 0) };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ entry }) => entry);
}
