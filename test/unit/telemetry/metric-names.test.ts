/** Tests the names, types and labels of all metrics. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { fullMetrics } from "../../support/full-metrics.ts";

/** Returns the metrics of a scrape in the order of their names. `le` is left out, because every histogram has it. */
async function exportedMetrics() {
  return (await fullMetrics().render())
    .trimEnd()
    .split("\n\n")
    .map((family) => {
      const [, name = "", type = ""] = /^# TYPE (\S+) (\S+)$/m.exec(family) ?? [];
      const labels = [...family.matchAll(/[{,](\w+)="/g)].map(([, label = ""]) => label);
      return { name, type, labels: [...new Set(labels)].filter((label) => label !== "le").sort() };
    })
    .sort(byName);
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/** The values of these metrics differ from run to run. */
const withoutProcess = (text: string) => text.replaceAll(/^((?:process|nodejs)_\w+) .*$/gm, "$1 0");

test("docs/metrics.md → exactly the metrics there are, with their types and labels", async () => {
  const page = await readFile(new URL("../../../docs/metrics.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\w+)[^|]*\|([^|]*)\|$/gm)];
  const documented = rows.map(([, name = "", type, labels = ""]) => ({
    name,
    type,
    // The words in brackets are values of the label.
    labels: [...labels.replaceAll(/\([^)]*\)/g, "").matchAll(/`(\w+)`/g)].map(([, label = ""]) => label).sort(),
  }));
  expect(documented.sort(byName)).toEqual(await exportedMetrics());
});

test("every metric → as it was last accepted", async () => {
  await expect(withoutProcess(await fullMetrics().render())).toMatchFileSnapshot("../../golden/metrics.txt");
});
