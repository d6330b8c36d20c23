/** Builds the documentation as a site: `npm run docs`. The result is plain files in `site/`. */
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vitepress";
import { forSite, readPages, sitePath } from "./pages.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const outDir = path.resolve(process.argv[2] ?? path.join(root, "site"));
/** The pages at their places in the site. It is in the repository, so that VitePress is found from there. */
const source = path.join(root, ".cache", `site-${process.pid}`);

async function writePage(page: string, text: string): Promise<void> {
  const file = path.join(source, sitePath(page));
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

try {
  const pages = await readPages(root);
  for (const [page, markdown] of pages) await writePage(page, forSite(page, markdown, pages));
  await cp(path.join(root, "tools/docs/public"), path.join(source, "public"), { recursive: true });
  await mkdir(path.join(source, ".vitepress"));
  const config = path.join(root, "tools/docs/config.ts");
  await writeFile(path.join(source, ".vitepress/config.mts"), `export { default } from ${JSON.stringify(config)};\n`);
  await build(source, { outDir });
  console.log(
    `${pages.size} pages in ${path.relative(process.cwd(), outDir)}; look at them: npx vite preview --outDir ${outDir}`,
  );
} finally {
  await rm(source, { recursive: true, force: true });
}
