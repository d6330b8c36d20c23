/** Builds the documentation as a site. */
import path from "node:path/posix";
import type { SearchEntry } from "./find-pages.ts";
import { pageFrame } from "./page-frame.ts";
import { anchorOf, renderPage } from "./render-page.ts";

/** The sources of the site. */
export interface SiteSources {
  /** The Markdown of each page, by path relative to the repository. */
  readonly pages: ReadonlyMap<string, string>;
  /** The script of the search, for browsers. */
  readonly searchScript: string;
}

/** A site: its files, and the files of the repository that it copies. */
export interface Site {
  /** The text of each file, by path relative to the site's root. */
  readonly files: ReadonlyMap<string, string>;
  /** The path of each copied file in the site, for instance of images and manifests. */
  readonly copies: ReadonlyMap<string, string>;
  readonly entries: readonly SearchEntry[];
}

/** Returns the folder of a page in the site: `docs/runbooks/X.md` is `runbooks/X/`, the README is the root. Pure. */
export function folderOf(page: string): string {
  if (page === "README.md") return "";
  return `${page.replace(/^docs\//, "").replace(/\.md$/, "")}/`;
}

/** Builds the site. Pure. */
export function buildSite({ pages, searchScript }: SiteSources): Site {
  const copies = new Map<string, string>();
  const rendered = [...withFolderPages(pages)].map(([page, markdown]) => {
    const resolve = (target: string) => linkFrom(page, target, pages, copies);
    return { folder: folderOf(page), ...renderPage(markdown, resolve) };
  });
  const links = rendered.map(({ folder, title }) => ({ folder, title }));
  const entries = rendered.flatMap(({ folder, title, entries: parts }) =>
    parts.map((part) => ({
      url: `${folder}index.html${part.heading === "" ? "" : `#${anchorOf(part.heading)}`}`,
      page: title,
      ...part,
    })),
  );
  const files = rendered.map(
    ({ folder, title, html }) => [`${folder}index.html`, pageFrame({ folder, title, html, links })] as const,
  );
  const data = `const searchEntries = ${JSON.stringify(entries)};\n`;
  return { files: new Map([...files, ["search-data.js", data], ["search.js", searchScript]]), copies, entries };
}

/** Adds a page for each folder that lists its pages, because links to a folder lead there. */
function withFolderPages(pages: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const folders = [...new Set([...pages.keys()].map((page) => path.dirname(page)))].filter((folder) =>
    /^docs\/./.test(folder),
  );
  const lists = folders.map((folder) => {
    const inside = [...pages].filter(([page]) => path.dirname(page) === folder);
    const lines = inside.map(([page, text]) => `- [${titleOf(text)}](${path.basename(folder)}/${path.basename(page)})`);
    return [`${folder}.md`, `# ${folder.replace("docs/", "")}\n\n${lines.sort().join("\n")}\n`] as const;
  });
  return new Map([...pages, ...lists]);
}

function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1] ?? "";
}

function linkFrom(
  page: string,
  target: string,
  pages: ReadonlyMap<string, string>,
  copies: Map<string, string>,
): string {
  if (/^[a-z]+:/.test(target)) return target;
  const [file = "", anchor] = target.split("#");
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  if (file === "") return suffix;
  const own = folderOf(page);
  const linked = path.join(path.dirname(page), file).replace(/\/$/, "");
  const isFolder = [...pages.keys()].some((name) => path.dirname(name) === linked);
  if (pages.has(linked) || isFolder)
    return relative(own, `${folderOf(isFolder ? `${linked}.md` : linked)}index.html`) + suffix;
  copies.set(`files/${linked}`, linked);
  return relative(own, `files/${linked}`);
}

function relative(fromFolder: string, target: string): string {
  return path.relative(`/${fromFolder}`, `/${target}`);
}
