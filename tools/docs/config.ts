/** The configuration of VitePress, which builds the documentation site. */
import { fileURLToPath } from "node:url";
import { defineConfig, type UserConfig } from "vitepress";
import { anchorOf, groups, pagesOf, readPages, sitePath } from "./pages.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = await readPages(root);

const item = (page: string) => ({
  text: page === "README.md" ? "Overview" : (/^# (.+)$/m.exec(pages.get(page) ?? "")?.[1] ?? ""),
  link: `/${sitePath(page).replace(/(index)?\.md$/, "")}`,
});

const sidebar = groups.map((group) => {
  const items = pagesOf(group, pages.keys()).map(item);
  return group.folder === undefined ? { text: group.text, items } : { text: group.text, items, collapsed: true };
});

/**
 * Headings count most, then pages that are named like the word, and pages about the project itself least. The functions
 * run in the browser, from their text alone.
 */
export const searchOptions = {
  fuzzy: 0.2,
  prefix: true,
  boost: { title: 4, text: 2, titles: 1 },
  processTerm: (term: string) =>
    /^(a|an|the|is|are|do|does|how|to|what|why|which|i|my|of|in|for)$/i.test(term) ? null : term.toLowerCase(),
  boostDocument: (id: unknown, term: string) => {
    const page = String(id).split("#")[0] ?? "";
    const name = page.split("/").at(-1) ?? "";
    if (/CHANGELOG|decisions|benchmarks|reliability|releases|code/.test(page)) return 0.2;
    return name !== "" && (name.includes(term) || term.startsWith(name)) ? 1.5 : 1;
  },
};

/** On a phone the cells of a row stand below each other. */
const tableStyle = `
.vp-doc td { vertical-align: top; }
@media (max-width: 640px) {
  .vp-doc table, .vp-doc tbody, .vp-doc tr, .vp-doc td { display: block; }
  .vp-doc thead { display: none; }
  .vp-doc tr { padding: 6px 0; }
  .vp-doc td { border: 0; padding: 2px 12px; }
}`;

const config: UserConfig = defineConfig({
  title: "endpoint-operator",
  description: "Compute endpoints of a managed Postgres service, as Kubernetes resources.",
  lang: "en",
  base: process.env.SITE_BASE ?? "/",
  cleanUrls: true,
  head: [
    ["link", { rel: "icon", href: `${process.env.SITE_BASE ?? "/"}icon.svg` }],
    ["style", {}, tableStyle],
  ],
  markdown: { html: false, defaultHighlightLang: "sh", anchor: { slugify: anchorOf } },
  themeConfig: {
    logo: "/icon.svg",
    sidebar,
    outline: { level: [2, 3] },
    nav: [
      { text: "Connect", link: "/connect" },
      { text: "Troubleshooting", link: "/troubleshooting" },
      { text: "Conditions", link: "/conditions" },
      { text: "Changes", link: "/CHANGELOG" },
    ],
    search: { provider: "local", options: { miniSearch: { searchOptions } } },
  },
});

// biome-ignore lint/style/noDefaultExport: VitePress reads the default export
export default config;
