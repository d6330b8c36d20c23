/** Parses and writes the addresses of the pages. */
import type { OperationPosition } from "../engine/store.ts";
import { parseCursor } from "../http/parts/lists.ts";

/** The paths of the pages. */
export const pagePaths = {
  projects: "/",
  requests: "/requests",
  faults: "/faults",
  connect: "/connect",
  reference: "/reference",
} as const;

/** The name of a page. */
export type PageName = keyof typeof pagePaths;

/** The parsed address of a page: which page, and what it shows. */
export interface PageQuery {
  readonly page: PageName;
  /** The project; `undefined`: the first project that the search finds. */
  readonly projectId: string | undefined;
  /** Older operations than this position are shown; `undefined`: the newest ones. */
  readonly before: OperationPosition | undefined;
  /** The text to search for, in lower case; "": everything. */
  readonly search: string;
  /** Form fields that a link fills in, such as a fault's path. */
  readonly fields: Readonly<Record<string, string>>;
}

/** The maximum length of a search text. */
const longestSearch = 200;

/**
 * Parses the query of a page's address. Unusable values count as absent.
 * @param query without the question mark
 */
export function parsePageQuery(page: PageName, query: string): PageQuery {
  const parameters = new URLSearchParams(query);
  const projectId = parameters.get("project") ?? undefined;
  return {
    page,
    projectId,
    before: parseCursor(parameters.get("before") ?? ""),
    search: (parameters.get("search") ?? "").trim().slice(0, longestSearch).toLowerCase(),
    fields: Object.fromEntries(["method", "path"].map((name) => [name, parameters.get(name) ?? ""])),
  };
}

/** Returns the address of a page. Empty parameters are left out. */
export function pageHref(page: PageName, parameters: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => (pair[1] ?? "") !== "");
  return given.length === 0 ? pagePaths[page] : `${pagePaths[page]}?${new URLSearchParams(given)}`;
}
