/** Tests the objects for the Prometheus operator. */
import { readFile } from "node:fs/promises";
import { PodMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor";
import { PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

// biome-ignore lint/suspicious/noExplicitAny: a manifest as its file states it; the model checks it
type Manifest = any;

async function manifestOf(name: string): Promise<Manifest> {
  return parse(await readFile(new URL(`../../../deploy/monitoring/${name}`, import.meta.url), "utf8"));
}

const podMonitor = { file: "pod-monitor.yaml", create: (manifest: Manifest) => new PodMonitor(manifest) };
const rule = { file: "prometheus-rule.yaml", create: (manifest: Manifest) => new PrometheusRule(manifest) };

describe("deploy/monitoring and the schemas of the Prometheus operator", () => {
  test.each([podMonitor, rule])("$file → valid", async ({ file, create }) => {
    const manifest = await manifestOf(file);
    expect(() => create(manifest).validate()).not.toThrow();
  });

  test.each([
    { ...podMonitor, broken: "a port that is a number", path: ["podMetricsEndpoints", 0, "port"], value: 8080 },
    { ...rule, broken: "a rule without an expression", path: ["groups", 0, "rules", 0, "expr"], value: undefined },
    { ...rule, broken: "a duration that is none", path: ["groups", 0, "rules", 0, "for"], value: "soon" },
  ])("$file with $broken → refused", async ({ file, create, path, value }) => {
    const manifest = await manifestOf(file);
    const parent = path.slice(0, -1).reduce((object, key) => object[key], manifest.spec);
    parent[path.at(-1) ?? ""] = value;
    expect(() => create(manifest).validate()).toThrow();
  });
});
