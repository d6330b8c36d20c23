// Builds the documentation as a site: `npm run docs`. The result is plain files in `site/`.
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { readSiteSources } from "./read-sources.ts";
import { buildSite } from "./site.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const outDir = path.resolve(process.argv[2] ?? path.join(root, "site"));
const { files, copies } = buildSite(await readSiteSources(root));

await rm(outDir, { recursive: true, force: true });
for (const [name, text] of files) {
  await mkdir(path.join(outDir, path.dirname(name)), { recursive: true });
  await writeFile(path.join(outDir, name), text);
}
for (const [name, source] of copies) await cp(path.join(root, source), path.join(outDir, name), { recursive: true });
console.log(`${files.size} files in ${path.relative(process.cwd(), outDir)}; open ${path.join(outDir, "index.html")}`);
