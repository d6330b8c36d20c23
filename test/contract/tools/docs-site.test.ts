/** Tests the links and the search of the documentation site, as VitePress builds it. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import MiniSearch from "minisearch";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../../../tools/assets/run-command.ts";
import { searchOptions } from "../../../tools/docs/config.ts";
import { groups, pagesOf, readPages } from "../../../tools/docs/pages.ts";
import { ruleGroups } from "../../../tools/monitoring/rule-files.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
let site = "";
let pages: ReadonlyMap<string, string>;

beforeAll(async () => {
  site = await mkdtemp(path.join(tmpdir(), "endpoint-operator-site-"));
  await runCommand({ command: process.execPath, args: ["tools/docs/cli.ts", site], cwd: root });
  const names = (await readdir(site, { recursive: true })).filter((name) => name.endsWith(".html"));
  pages = new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(path.join(site, name), "utf8")] as const)),
  );
}, 120_000);

afterAll(() => rm(site, { recursive: true, force: true }));

/** Returns the file of an address of the site. */
const fileOf = (address: string) => (address === "/" ? "index.html" : `${address.slice(1)}.html`);

test("every link between pages → a page of the site, and an anchor on it", () => {
  const links = [...pages].flatMap(([page, html]) =>
    [...html.matchAll(/href="([^":]*)"/g)].map(([, target = ""]) => ({ page, target })),
  );
  const toPages = links.filter(({ target }) => !/\.(css|js|woff2|svg|json)$/.test(target));
  expect(toPages.length).toBeGreaterThan(1_000);
  const broken = toPages.filter(({ page, target }) => {
    const [address = "", anchor = ""] = target.split("#");
    const html = address === "" ? pages.get(page) : pages.get(fileOf(address));
    return html === undefined || (anchor !== "" && anchor !== "VPContent" && !html.includes(`id="${anchor}"`));
  });
  expect(broken).toEqual([]);
});

test("the menu → every page, once", async () => {
  const all = [...(await readPages(root)).keys()];
  expect(groups.flatMap((group) => pagesOf(group, all)).toSorted()).toEqual(all.toSorted());
  const fields = all.filter((page) => /fields\.md$/.test(page));
  expect(groups.find(({ text }) => text === "Look up")?.pages).toEqual(expect.arrayContaining(fields));
});

test("the runbook of every alert → a page of the site", () => {
  const addresses = ruleGroups().flatMap(({ rules }) =>
    rules.flatMap((rule) => ("alert" in rule ? (rule.annotations.runbook_url ?? "") : [])),
  );
  expect(addresses.length).toBeGreaterThan(5);
  expect(addresses.filter((address) => !pages.has(fileOf(new URL(address).pathname)))).toEqual([]);
});

/** What users ask, and the page that answers. */
const questions = {
  "delete hangs": "/troubleshooting",
  resize: "/using",
  "how to connect": "/connect",
  install: "/",
  uninstall: "/upgrades",
  "upgrade operator": "/upgrades",
  "rotate password": "/rotate",
  "helm values": "/endpoint-operator-chart",
  "adopt existing endpoint": "/using",
  terraform: "/guides/terraform",
  proxy: "/guides/air-gapped",
  openshift: "/guides/openshift",
  "restore backup": "/guides/velero",
  alerts: "/monitoring",
  "grafana dashboard": "/dashboard",
  "several teams": "/tenants",
  django: "/guides/clients",
  "argo cd": "/gitops",
  "environment variables": "/settings",
  "what is a branch": "/concepts",
} as const;

test("twenty questions → the right page among the first three results, and for sixteen of them first", async () => {
  const chunks = path.join(site, "assets", "chunks");
  const index = (await readdir(chunks)).find((name) => name.startsWith("@localSearchIndexroot"));
  const { default: json } = await import(pathToFileURL(path.join(chunks, index ?? "")).href);
  // As the search box of the theme loads it.
  const search = MiniSearch.loadJSON(json, { fields: ["title", "titles", "text"], searchOptions });
  const ranks = Object.entries(questions).map(([question, page]) => {
    const found = [...new Set(search.search(question).map(({ id }) => String(id).split("#")[0]))];
    return { question, page, rank: found.indexOf(page) + 1, found: found.slice(0, 3) };
  });
  expect(ranks).toHaveLength(20);
  expect(ranks.filter(({ rank }) => rank < 1 || rank > 3)).toEqual([]);
  const named = ["delete hangs", "resize", "how to connect"];
  expect(ranks.filter(({ question, rank }) => named.includes(question) && rank !== 1)).toEqual([]);
  expect(ranks.filter(({ rank }) => rank === 1).length, JSON.stringify(ranks, undefined, 1)).toBeGreaterThanOrEqual(16);
});
