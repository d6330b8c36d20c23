/** Builds the documentation as a site: `npm run docs`. The result is plain files in `site/`. */
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "vitepress";
import { runTool } from "../process/command-line.ts";
import { forSite, readPages, sitePath } from "./pages.ts";

const usage = `Usage: npm run docs -- [FOLDER]

Builds the documentation as plain files. They stand in FOLDER, or in site/.`;

const root = fileURLToPath(new URL("../../", import.meta.url));
/** The pages at their places in the site. It is in the repository, so that VitePress is found from there. */
const source = path.join(root, ".cache", `site-${process.pid}`);

async function writePage(page: string, text: string): Promise<void> {
  const file = path.join(source, sitePath(page));
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

async function main(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
  const outDir = path.resolve(positionals[0] ?? path.join(root, "site"));
  try {
    const pages = await readPages(root);
    for (const [page, markdown] of pages) await writePage(page, forSite(page, markdown, pages));
    await cp(path.join(root, "tools/docs/public"), path.join(source, "public"), { recursive: true });
    await mkdir(path.join(source, ".vitepress"));
    const config = path.join(root, "tools/docs/config.ts");
    await writeFile(path.join(source, ".vitepress/config.mts"), `export { default } from ${JSON.stringify(config)};\n`);
    await build(source, { outDir });
    const place = path.relative(process.cwd(), outDir);
    console.log(`${pages.size} pages in ${place}; look at them: npx vite preview --outDir ${outDir}`);
    return 0;
  } finally {
    await rm(source, { recursive: true, force: true });
  }
}

await runTool({ usage, main });
