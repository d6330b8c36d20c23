import type { OperationPosition } from "../engine/store.ts";
import { parseCursor } from "../http/parts/lists.ts";

/** The pages, and where they are. */
export const pagePaths = {
  projects: "/",
  requests: "/requests",
  faults: "/faults",
  connect: "/connect",
  reference: "/reference",
} as const;

/** One of the pages. */
export type PageName = keyof typeof pagePaths;

/** What a page is asked to show. */
export interface PageQuery {
  readonly page: PageName;
  /** `undefined`: the first project. */
  readonly projectId: string | undefined;
  /** From where to show older operations; `undefined`: the newest. */
  readonly before: OperationPosition | undefined;
  /** In lower case; empty: everything. */
  readonly search: string;
  /** Fields of forms that a link fills in, such as a fault's path. */
  readonly fields: Readonly<Record<string, string>>;
}

/** The longest text to search for. */
const longestSearch = 200;

/** Reads what a page is asked to show. Odd values count as absent. @param query without the question mark. */
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

/** The address of a page. Empty parameters are left out. */
export function pageHref(page: PageName, parameters: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => (pair[1] ?? "") !== "");
  return given.length === 0 ? pagePaths[page] : `${pagePaths[page]}?${new URLSearchParams(given)}`;
}
