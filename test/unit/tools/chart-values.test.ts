/** Tests that the values of the chart fit the settings and their schema. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import packageJson from "../../../package.json" with { type: "json" };
import { chartFolders } from "../../../tools/charts/chart-files.ts";

const textOf = (path: string) => readFile(new URL(`../../../${path}`, import.meta.url), "utf8");
const values = parse(await textOf("charts/endpoint-operator/values.yaml")) as Record<string, object>;
const { properties } = JSON.parse(await textOf("charts/endpoint-operator/values.schema.json"));

/** The settings that the templates set. With the chart's number of replicas, the leader election must be on. */
const setByTemplates = [
  ...["CONTROL_PLANE_URL", "CONTROL_PLANE_API_KEY", "CONTROL_PLANE_API_KEY_FILE", "CONTROL_PLANE_API_KEY_SECRET"],
  ...["KUBECONFIG", "METRICS_ADDR", "HEALTH_ADDR", "METRICS_AUTH", "WATCH_NAMESPACES", "DATABASE_CA_FILE"],
  ...["LEADER_ELECTION", "LEASE_NAME", "LEASE_NAMESPACE"],
];

test("the settings of docs/settings.md → values of the chart, unless a template sets them", async () => {
  const documented = [...(await textOf("docs/settings.md")).matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
  expect(documented.length).toBeGreaterThan(20);
  const adjustable = documented.filter((name) => !setByTemplates.includes(name ?? ""));
  expect(Object.keys(properties.settings.properties).sort()).toEqual(adjustable.sort());
});

test("each value → described in the schema, which makes the table of the README", () => {
  const described = Object.keys(values).filter((name) => properties[name]?.description !== undefined);
  expect(described).toEqual(Object.keys(values));
});

test("the addresses that people write into the charts → are those of package.json", async () => {
  const { homepage } = packageJson;
  expect(values.monitoring).toHaveProperty("runbookUrl", `${homepage}/runbooks/{name}`);
  for (const folder of chartFolders) {
    const { home, icon } = parse(await textOf(`${folder}/Chart.yaml`));
    expect([home, icon]).toEqual([homepage, `${homepage}/icon.svg`]);
  }
});
