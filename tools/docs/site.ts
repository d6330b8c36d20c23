import path from "node:path/posix";
import type { SearchEntry } from "./find-pages.ts";
import { pageFrame } from "./page-frame.ts";
import { anchorOf, renderPage } from "./render-page.ts";

/** What the site is made from. */
export interface SiteSources {
  /** Markdown by path relative to the repository. */
  readonly pages: ReadonlyMap<string, string>;
  /** Script of the search, for browsers. */
  readonly searchScript: string;
}

/** A site as files, and the files of the repository that it shows as they are. */
export interface Site {
  /** Text by path relative to the site's root. */
  readonly files: ReadonlyMap<string, string>;
  /** Files of the repository by their path in the site: images, manifests. */
  readonly copies: ReadonlyMap<string, string>;
  readonly entries: readonly SearchEntry[];
}

/** The folder of a page in the site: `docs/runbooks/X.md` is `runbooks/X/`, the README is the root. Pure. */
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

/** A page for each folder of pages, which lists them: links to a folder lead to it. */
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
