/** Tests the objects for the Prometheus operator. */
import { readFile } from "node:fs/promises";
import { PodMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor";
import { PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule";
import { expect, test } from "vitest";
import { parse } from "yaml";

const models = { "pod-monitor.yaml": PodMonitor, "prometheus-rule.yaml": PrometheusRule };

test.each(Object.entries(models))("deploy/monitoring/%s → valid for the Prometheus operator", async (file, Model) => {
  const text = await readFile(new URL(`../../../deploy/monitoring/${file}`, import.meta.url), "utf8");
  expect(() => new Model(parse(text)).validate()).not.toThrow();
});
