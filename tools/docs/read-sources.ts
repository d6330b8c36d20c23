/** Reads the pages of the documentation. */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { build } from "esbuild";
import type { SiteSources } from "./site.ts";

const rootPages = ["README.md", "CHANGELOG.md", "SECURITY.md"];

/** Reads every page, and makes the search script. @param root the repository */
export async function readSiteSources(root: string): Promise<SiteSources> {
  const names = await readdir(path.join(root, "docs"), { recursive: true });
  const docs = names.filter((name) => name.endsWith(".md")).map((name) => path.join("docs", name));
  const pages = await Promise.all(
    [...rootPages, ...docs.sort()].map(async (page) => [page, await readFile(path.join(root, page), "utf8")] as const),
  );
  return { pages: new Map(pages), searchScript: await searchScript(root) };
}

async function searchScript(root: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path.join(root, "tools/docs/browser-search.ts")],
    ...{ bundle: true, format: "iife", platform: "browser", target: "es2022", write: false },
  });
  return outputFiles[0]?.text ?? "";
}
