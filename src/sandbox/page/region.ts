import { hash } from "node:crypto";
import { Html, html } from "./html.ts";

/** One line of a list: an element that carries its key as `data-key`. */
export interface Row {
  /** Unique in its region, and the same as long as the line is about the same thing. */
  readonly key: string;
  /** One element; the same text as long as nothing about it has changed. */
  readonly content: Html;
}

/** A part of the page that changes while it is looked at. Everything outside of regions stays as it was loaded. */
export interface Region {
  readonly id: string;
  readonly rows: readonly Row[];
}

/** The markup of each row by key, in order, by region. */
export type RegionTexts = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** What has become different in one region. */
export interface RegionChange {
  readonly region: string;
  /** All keys in their new order; absent: the keys and their order are as before. */
  readonly order?: readonly string[];
  /** Markup of the rows that are new or different, by key. */
  readonly rows: Readonly<Record<string, string>>;
}

/** The element of a region, with its rows as they are now. */
export function regionView({ id, rows }: Region, tag: "div" | "ul" | "tbody" = "div"): Html {
  const name = new Html(tag);
  return html`<${name} id="${id}" data-region="${id}">${rows.map(({ content }) => content)}</${name}>`;
}

/** What to compare later. */
export function textsOf(regions: readonly Region[]): RegionTexts {
  return new Map(
    regions.map(({ id, rows }) => [id, new Map(rows.map(({ key, content }) => [key, content.markup]))] as const),
  );
}

/** A short text that is the same for the same texts. */
export function versionOf(texts: RegionTexts): string {
  return hash("sha256", JSON.stringify([...texts].map(([id, rows]) => [id, ...rows.values()])), "base64url");
}

/** What to send so that a page that shows `before` shows `after`; empty when nothing differs. */
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
