/** Tests the names, types and labels of all metrics. */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { fullMetrics } from "../../support/full-metrics.ts";

/** A metric as a scrape shows it. */
interface ExportedMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** The labels of its series, in alphabetical order. `le` is left out, because every histogram has it. */
  readonly labels: readonly string[];
}

async function exportedMetrics(): Promise<readonly ExportedMetric[]> {
  return (await fullMetrics().render())
    .trimEnd()
    .split("\n\n")
    .map((family) => {
      const [, name = "", help = ""] = /^# HELP (\S+) (.*)$/m.exec(family) ?? [];
      const [, type = ""] = /^# TYPE \S+ (\S+)$/m.exec(family) ?? [];
      const labels = [...family.matchAll(/[{,](\w+)="/g)].map(([, label = ""]) => label);
      return { name, type, help, labels: [...new Set(labels)].filter((label) => label !== "le").sort() };
    });
}

/** The values of these metrics differ from run to run. */
const withoutProcess = (text: string) => text.replaceAll(/^((?:process|nodejs)_\w+) .*$/gm, "$1 0");

describe("names", () => {
  test("every metric → as the Prometheus naming guide has it", async () => {
    const metrics = await exportedMetrics();
    expect(metrics.length).toBeGreaterThan(30);
    for (const { name, type, help } of metrics) {
      expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
      expect(name, "only a counter ends in _total").toMatch(type === "counter" ? /_total$/ : /(?<!_total)$/);
      expect(name, "no suffix that a histogram makes").not.toMatch(/_(count|sum|bucket)$/);
      expect(name, "base units").not.toMatch(/_(milliseconds|ms|minutes|kilobytes)(_|$)/);
      expect(name, "no type in the name").not.toMatch(/_(gauge|counter|histogram)(_|$)/);
      expect(help, `${name} has a help text`).not.toBe("");
      expect(type !== "histogram" || name.endsWith("_seconds")).toBe(true);
    }
  });

  /** @see sigs.k8s.io/controller-runtime v0.22, pkg/metrics and pkg/internal/controller/metrics (read 2026-11-22) */
  test("what controller-runtime has → the same names, types and labels here", async () => {
    const labelsOfQueue = ["controller", "name"];
    const theirs = [
      ["controller_runtime_active_workers", "gauge", ["controller"]],
      ["controller_runtime_max_concurrent_reconciles", "gauge", ["controller"]],
      ["controller_runtime_reconcile_errors_total", "counter", ["controller"]],
      ["controller_runtime_reconcile_time_seconds", "histogram", ["controller"]],
      ["controller_runtime_reconcile_total", "counter", ["controller", "result"]],
      ["leader_election_master_status", "gauge", ["name"]],
      ["workqueue_adds_total", "counter", labelsOfQueue],
      ["workqueue_depth", "gauge", labelsOfQueue],
      ["workqueue_longest_running_processor_seconds", "gauge", labelsOfQueue],
      ["workqueue_queue_duration_seconds", "histogram", labelsOfQueue],
      ["workqueue_retries_total", "counter", labelsOfQueue],
      ["workqueue_unfinished_work_seconds", "gauge", labelsOfQueue],
      ["workqueue_work_duration_seconds", "histogram", labelsOfQueue],
    ];
    const ours = (await exportedMetrics())
      .filter(({ name }) => /^(controller_runtime|workqueue|leader_election)_/.test(name))
      .map(({ name, type, labels }) => [name, type, labels]);
    expect(ours.sort()).toEqual(theirs);
  });

  test("docs/metrics.md → exactly the metrics there are, with their types and labels", async () => {
    const page = await readFile(new URL("../../../docs/metrics.md", import.meta.url), "utf8");
    const documented = [...page.matchAll(/^\| `(\w+)` \| (\w+)[^|]*\|([^|]*)\|$/gm)].map(
      ([, name, type, labels = ""]) => ({
        name,
        type,
        // The words in brackets are values of the label.
        labels: [...labels.replaceAll(/\([^)]*\)/g, "").matchAll(/`(\w+)`/g)].map(([, label = ""]) => label).sort(),
      }),
    );
    const exported = (await exportedMetrics()).map(({ name, type, labels }) => ({ name, type, labels }));
    const byName = (a: { name?: string | undefined }, b: typeof a) => ((a.name ?? "") < (b.name ?? "") ? -1 : 1);
    expect(documented.sort(byName)).toEqual([...exported].sort(byName));
  });
});

describe("the whole text", () => {
  test("every metric → as it was last accepted", async () => {
    await expect(withoutProcess(await fullMetrics().render())).toMatchFileSnapshot("../../golden/metrics.txt");
  });
});
