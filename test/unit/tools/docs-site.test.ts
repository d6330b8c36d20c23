/** Tests the links and the search of the documentation site. */
import { stat } from "node:fs/promises";
import path from "node:path/posix";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findPages } from "../../../tools/docs/find-pages.ts";
import { readSiteSources } from "../../../tools/docs/read-sources.ts";
import { buildSite } from "../../../tools/docs/site.ts";
import { ruleGroups } from "../../../tools/monitoring/rule-files.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const site = buildSite(await readSiteSources(root));

/** Returns every address in the pages that is not of another host. */
function internalLinks(): readonly { readonly page: string; readonly target: string }[] {
  return [...site.files]
    .filter(([name]) => name.endsWith(".html"))
    .flatMap(([page, html]) =>
      [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, target = ""]) => ({ page, target })),
    )
    .filter(({ target }) => !/^[a-z]+:/.test(target));
}

test("every link of every page → a file of the site, and an anchor of its page", async () => {
  const broken: string[] = [];
  for (const { page, target } of internalLinks()) {
    const [file = "", anchor] = target.split("#");
    const linked = file === "" ? page : path.join(path.dirname(page), file);
    const text = site.files.get(linked);
    const copied = site.copies.get(linked);
    const isThere =
      text !== undefined || (copied !== undefined && (await stat(path.join(root, copied)).then(Boolean, () => false)));
    const hasAnchor = anchor === undefined || text?.includes(`id="${anchor}"`);
    if (!isThere || !hasAnchor) broken.push(`${page}: ${target}`);
  }
  expect(internalLinks().length).toBeGreaterThan(200);
  expect(broken).toEqual([]);
});

test("the runbook of every alert → a page of the site", () => {
  const addresses = ruleGroups().flatMap(({ rules }) => rules.map(({ annotations }) => annotations.runbook_url ?? ""));
  expect(addresses.length).toBeGreaterThan(5);
  const pageOf = (address: string) => address.replace(/^https:\/\/endpoint-operator\.dev\/(.*)$/, "$1/index.html");
  expect(addresses.filter((address) => !site.files.has(pageOf(address)))).toEqual([]);
});

test.each([
  ["EndpointExists", "conditions/index.html"],
  ["acknowledge failed operation", "troubleshooting/index.html"],
  ["ComputeEndpointStalled", "runbooks/ComputeEndpointStalled/index.html"],
  ["helm uninstall", "upgrades/index.html"],
])("a search for %s → finds %s", (query, page) => {
  const urls = findPages(site.entries, query, 12).map(({ url }) => url.split("#")[0]);
  expect(urls).toContain(page);
});

test("a search for nothing, or for what no page has → nothing", () => {
  expect(findPages(site.entries, "  ", 12)).toEqual([]);
  expect(findPages(site.entries, "EndpointExists zebra", 12)).toEqual([]);
});
