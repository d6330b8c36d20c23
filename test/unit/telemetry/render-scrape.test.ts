/** Tests the text of a scrape. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { MetricsRegistry } from "../../../src/telemetry/metrics-registry.ts";
import { createOperationCounters } from "../../../src/telemetry/operation-counters.ts";
import { renderScrape } from "../../../src/telemetry/render-scrape.ts";

const openMetrics = async (registry: MetricsRegistry) => (await renderScrape(registry, "OpenMetrics")).body;
const plainText = async (registry: MetricsRegistry) => (await renderScrape(registry, "Prometheus")).body;

function countersOf(registry: MetricsRegistry) {
  const counters = createOperationCounters(registry, (action) => action);
  return (operationId: string, durationMs = 812) =>
    counters.countEnded({
      operationId,
      durationMs,
      action: "start_compute",
      outcome: "succeeded",
      cause: "SpecChange",
      namespace: "shop",
      name: "orders",
    });
}

const bucketsOf = (text: string) => text.split("\n").filter((line) => line.includes("_seconds_bucket{"));

/** Makes one metric of each kind, with every value and label that needs special care. */
function fill(registry: Registry | MetricsRegistry): void {
  const registers = [registry];
  const counter = new Counter({ name: "knocks_total", help: 'Knocks on the "door".\nAll \\.', registers });
  const gauge = new Gauge({ name: "doors", help: "Doors.", labelNames: ["colour", "side"], registers });
  new Gauge({ name: "bells", help: "Bells.", labelNames: ["colour"], registers });
  const wait = new Histogram({ name: "wait_seconds", help: "Waits.", buckets: [0.5, 1], registers });
  counter.inc(3);
  gauge.set({ colour: 'a "red"\\\n', side: "" }, Number.POSITIVE_INFINITY);
  gauge.set({ colour: "blue" }, Number.NEGATIVE_INFINITY);
  gauge.set({}, 1e-7);
  wait.observe(0.7);
}

test("counted while the text is written → a counter may show it, a histogram is as of the beginning", async () => {
  const registry = new MetricsRegistry();
  const registers = [registry];
  const gauge = new Gauge({ name: "doors", help: "Doors.", labelNames: ["number"], registers });
  for (let number = 0; number < 5_000; number += 1) gauge.set({ number: `${number}` }, 1);
  const counter = new Counter({ name: "knocks_total", help: "Knocks.", registers });
  const wait = new Histogram({ name: "wait_seconds", help: "Waits.", buckets: [1], registers });
  counter.inc();
  wait.observe(0.5);
  setImmediate(() => {
    counter.inc();
    wait.observe(0.5);
  });
  const text = await openMetrics(registry);
  expect(text).toContain("\nknocks_total 2\n");
  expect(text).toContain("\nwait_seconds_count 1\n");
});

test("thousands of samples → other work runs while they are written, and all of them are there", async () => {
  const registry = new MetricsRegistry();
  const gauge = new Gauge({ name: "doors", help: "Doors.", labelNames: ["number"], registers: [registry] });
  for (let number = 0; number < 5_000; number += 1) gauge.set({ number: `${number}` }, 1);
  let runs = 0;
  let isWritten = false;
  const runAgain = () => {
    runs += 1;
    if (!isWritten) setImmediate(runAgain);
  };
  setImmediate(runAgain);
  const text = await plainText(registry);
  isWritten = true;
  expect(runs).toBeGreaterThanOrEqual(4);
  expect(text.match(/^doors\{/gm)).toHaveLength(5_000);
});

describe("the text", () => {
  test("OpenMetrics → each kind of metric named, escaped and ended as the format has it", async () => {
    const registry = new MetricsRegistry();
    fill(registry);
    expect(await renderScrape(registry, "OpenMetrics")).toEqual({
      contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
      body: [
        '# HELP knocks Knocks on the \\"door\\".\\nAll \\\\.',
        "# TYPE knocks counter",
        "knocks_total 3",
        "# HELP doors Doors.",
        "# TYPE doors gauge",
        'doors{colour="a \\"red\\"\\\\\\n",side=""} +Inf',
        'doors{colour="blue"} -Inf',
        "doors 1e-7",
        "# HELP bells Bells.",
        "# TYPE bells gauge",
        "# HELP wait_seconds Waits.",
        "# TYPE wait_seconds histogram",
        'wait_seconds_bucket{le="0.5"} 0',
        'wait_seconds_bucket{le="1.0"} 1',
        'wait_seconds_bucket{le="+Inf"} 1',
        "wait_seconds_sum 0.7",
        "wait_seconds_count 1",
        "# EOF",
        "",
      ].join("\n"),
    });
  });

  test("the plain form → what prom-client writes of the same, byte for byte", async () => {
    const ours = new MetricsRegistry();
    const theirs = new Registry();
    fill(ours);
    fill(theirs);
    expect(await renderScrape(ours, "Prometheus")).toEqual({
      contentType: theirs.contentType,
      body: await theirs.metrics(),
    });
  });

  test("both forms, one after the other → neither changes the other; exemplars in OpenMetrics only", async () => {
    const registry = new MetricsRegistry();
    countersOf(registry)("op-1");
    const before = await plainText(registry);
    const open = await openMetrics(registry);
    expect(await plainText(registry)).toBe(before);
    expect(await openMetrics(registry)).toBe(open);
    expect(before).toContain("# TYPE compute_endpoint_operations_total counter");
    expect(open).toContain("# TYPE compute_endpoint_operations counter");
    expect(before).not.toContain("op-1");
    expect(open).toContain("op-1");
  });
});

describe("exemplars", () => {
  test("an operation has ended → its id stands at the one bucket it fell into, with the duration", async () => {
    const registry = new MetricsRegistry();
    const count = countersOf(registry);
    count("op-1");
    const marked = bucketsOf(await openMetrics(registry)).filter((line) => line.includes(" # "));
    expect(marked).toHaveLength(1);
    expect(marked[0]).toMatch(/le="1\.0".* 1 # \{operation_id="op-1"\} 0\.812 \d{10}(\.\d+)?$/);
  });

  test("one operation beyond the last bound → its id stands at +Inf", async () => {
    const registry = new MetricsRegistry();
    countersOf(registry)("op-long", 7_200_000);
    const marked = bucketsOf(await openMetrics(registry)).filter((line) => line.includes(" # "));
    expect(marked).toHaveLength(1);
    expect(marked[0]).toMatch(/le="\+Inf".* # \{operation_id="op-long"\} 7200 /);
  });

  test("later operations of the same duration → the latest id, one exemplar a bucket", async () => {
    const registry = new MetricsRegistry();
    const count = countersOf(registry);
    for (let index = 0; index < 1_000; index += 1) count(`op-${index}`);
    const marked = bucketsOf(await openMetrics(registry)).filter((line) => line.includes(" # "));
    expect(marked).toHaveLength(1);
    expect(marked[0]).toContain('operation_id="op-999"');
  });

  test.each([
    ["the longest id allowed", "x".repeat(116), 1],
    ["an id one character longer", "x".repeat(117), 0],
    ["an empty id", "", 0],
  ])("%s → counted in any case; an exemplar only if the format allows it", async (_, id, exemplars) => {
    const registry = new MetricsRegistry();
    countersOf(registry)(id);
    const text = await openMetrics(registry);
    expect(bucketsOf(text).filter((line) => line.includes(" # "))).toHaveLength(exemplars);
    expect(text).toMatch(/_seconds_count\{.*\} 1\n/);
  });
});
