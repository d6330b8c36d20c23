/** The regions of a page: its lists and texts that are updated in the browser. */
import { hash } from "node:crypto";
import { Html, html } from "./html.ts";

/** One line of a list: an element with its key in the attribute `data-key`. */
export interface Row {
  /** The key, unique in its region. It stays the same while the line is about the same object. */
  readonly key: string;
  /** The HTML of this row, which is one element. If it differs from what the page has, the row is sent again. */
  readonly content: Html;
}

/** A list of rows on the page that is updated in the browser. Everything outside of regions never changes. */
export interface Region {
  readonly id: string;
  readonly rows: readonly Row[];
}

/** The HTML of all rows: by region, then by row key in order. */
export type RegionTexts = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The changes of one region. */
export interface RegionChange {
  readonly region: string;
  /** The keys of all rows in their new order; absent: keys and order did not change. */
  readonly order?: readonly string[];
  /** The HTML of new or changed rows, by key. */
  readonly rows: Readonly<Record<string, string>>;
}

/** Makes the element of a region with its rows. */
export function regionView({ id, rows }: Region, tag: "div" | "ul" | "tbody" = "div"): Html {
  const name = new Html(tag);
  return html`<${name} id="${id}" data-region="${id}">${rows.map(({ content }) => content)}</${name}>`;
}

/** Returns the HTML of all rows, so that it can be compared later. */
export function textsOf(regions: readonly Region[]): RegionTexts {
  return new Map(
    regions.map(({ id, rows }) => [id, new Map(rows.map(({ key, content }) => [key, content.markup]))] as const),
  );
}

/** Returns a hash of all regions, which is equal if their HTML is equal. */
export function versionOf(texts: RegionTexts): string {
  return hash("sha256", JSON.stringify([...texts].map(([id, rows]) => [id, ...rows.values()])), "base64url");
}

/** Returns the changes that turn a page with `before` into a page with `after`; empty if nothing differs. */
export function changesBetween(before: RegionTexts, after: RegionTexts): readonly RegionChange[] {
  return [...after].flatMap(([region, rows]) => {
    const known = before.get(region);
    const changed = [...rows].filter(([key, text]) => known?.get(key) !== text);
    const isSameOrder = known !== undefined && haveSameKeys([...known.keys()], [...rows.keys()]);
    if (changed.length === 0 && isSameOrder) return [];
    return [{ region, ...(isSameOrder ? {} : { order: [...rows.keys()] }), rows: Object.fromEntries(changed) }];
  });
}

function haveSameKeys(before: readonly string[], after: readonly string[]): boolean {
  return before.length === after.length && before.every((key, index) => key === after[index]);
}
