/** Tests the shipped alerts with promtool. */
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { alerts, type Rule, ruleGroups } from "../../../tools/monitoring/rule-files.ts";
import { promtoolPath } from "../../support/promtool-path.ts";
import { alertCases } from "./alert-cases.ts";
import type { AlertCase, Firing } from "./alert-series.ts";

const rulesFile = fileURLToPath(new URL("../../../deploy/monitoring/rules.yaml", import.meta.url));
const rules: ReadonlyMap<string, Rule> = new Map(
  ruleGroups().flatMap((group) => group.rules.flatMap((rule) => ("alert" in rule ? [[rule.alert, rule]] : []))),
);

const rulesCount = ruleGroups().flatMap((group) => group.rules).length;

/**
 * Runs promtool.
 * @returns its output
 * @throws Error with the output when promtool reports a problem
 */
async function promtool(binary: string, ...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(binary, args, { timeout: 240_000 }).catch((error) => {
    throw new Error(`promtool ${args[0]} ${args[1]}:\n${error.stdout}${error.stderr}`);
  });
  return stdout + stderr;
}

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), "alert-rules-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Returns the text of a template for a firing alert. The case gives the text for `$value`. */
function textOf(template: string, { labels = {}, value }: Firing): string {
  const text = template
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, label: string) => labels[label] ?? `no label ${label}`)
    .replaceAll(/\{\{ \$value[^}]*\}\}/g, value ?? "no value");
  expect(text).not.toContain("{{");
  return text;
}

/** A failed suspend or check stops no database. */
function severityOf({ labels: { severity = "" } }: Rule, { labels = {} }: Firing): string {
  if (!severity.startsWith("{{")) return severity;
  return ["suspend_compute", "check_availability"].includes(labels.action ?? "") ? "warning" : "critical";
}

/** Returns one case in the form of a file for `promtool test rules`. */
function testFile({ alert, series, firing }: AlertCase): object {
  const rule = rules.get(alert);
  if (rule === undefined) throw new Error(`no rule ${alert}`);
  const expected = (each: Firing) => ({
    exp_labels: { ...rule.labels, severity: severityOf(rule, each), ...each.labels },
    exp_annotations: Object.fromEntries(
      Object.entries(rule.annotations).map(([name, template]) => [name, textOf(template, each)]),
    ),
  });
  return {
    rule_files: [rulesFile],
    evaluation_interval: "30s",
    tests: [
      {
        interval: "30s",
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        alert_rule_test: Object.entries(firing).map(([time, all]) => ({
          eval_time: time,
          alertname: alert,
          exp_alerts: all.map(expected),
        })),
      },
    ],
  };
}

const nameOfCase = (number: number) => `/case-${number}.json`;

/** The output of promtool for all cases. */
let everyCase: Promise<string> | undefined;

/** Runs promtool once for all cases, because a start of it costs more than a case. */
async function runEveryCase(binary: string): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), "alert-cases-"));
  const fileOf = (number: number) => directory + nameOfCase(number);
  try {
    await Promise.all(alertCases.map((each, number) => writeFile(fileOf(number), JSON.stringify(testFile(each)))));
    const files = alertCases.map((_each, number) => fileOf(number));
    return await promtool(binary, "test", "rules", ...files).catch((error: Error) => error.message);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

describe("deploy/monitoring/rules.yaml", () => {
  test("promtool check rules → every rule is well formed", async (context) => {
    const binary = await promtoolPath(context);
    expect(await promtool(binary, "check", "rules", rulesFile)).toContain(`SUCCESS: ${rulesCount} rules found`);
  });

  test("the configuration that docs/monitoring.md shows → promtool accepts it, with these rules", async (context) => {
    const binary = await promtoolPath(context);
    const page = await readFile(new URL("../../../docs/monitoring.md", import.meta.url), "utf8");
    const [, config = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];
    const directory = await temporaryDirectory();
    await copyFile(rulesFile, path.join(directory, "rules.yaml"));
    // Debian's promtool is built without service discovery, so that part of the file is not checked.
    const discovery = /kubernetes_sd_configs: .*$/m;
    expect(config).toMatch(discovery);
    await writeFile(path.join(directory, "prometheus.yml"), config.replace(discovery, "static_configs: []"));
    const output = await promtool(binary, "check", "config", path.join(directory, "prometheus.yml"));
    expect(output).toContain(`SUCCESS: ${rulesCount} rules found`);
  });

  test.for(alertCases)("$alert, $name", async (alertCase, context) => {
    const binary = await promtoolPath(context);
    everyCase ??= runEveryCase(binary);
    const output = await everyCase;
    const number = alertCases.indexOf(alertCase);
    expect(output.includes(`${nameOfCase(number)}\n  SUCCESS\n`), output).toBe(true);
  });

  test("gauges of the leader → every alert about them looks at its own series of before, as the cases show for some", () => {
    const others = alerts.filter(({ expr }) => !expr.includes("ALERTS{"));
    expect(others.map(({ name }) => name)).toEqual([
      ...["ComputeEndpointOperationFailedBriefly", "ComputeEndpointStartsOften", "EndpointOperatorDown"],
      ...["EndpointOperatorWithoutLeader", "EndpointOperatorWatchStale", "EndpointOperatorOperationsUnseen"],
      ...["EndpointOperatorThrottled", "EndpointOperatorQueueNotDraining"],
    ]);
  });

  test("compute_endpoint:cost_per_hour → two units that run all the time cost twice the price", async (context) => {
    const binary = await promtoolPath(context);
    const labels = '{bound="max", name="orders", namespace="shop"}';
    const input_series = [{ series: `compute_endpoint_unit_seconds_total${labels}`, values: "0+60x240" }];
    const record = "compute_endpoint:cost_per_hour";
    const exp_samples = [{ labels: `${record}${labels}`, value: 0.32 }];
    const promql_expr_test = [{ expr: record, eval_time: "90m", exp_samples }];
    const tests = [{ interval: "30s", input_series, promql_expr_test }];
    const file = path.join(await temporaryDirectory(), "cost.json");
    await writeFile(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: "30s", tests }));
    expect(await promtool(binary, "test", "rules", file)).toContain("SUCCESS");
  });

  test.each(alerts)("$name → some case has it firing, resolving, and not firing at all", ({ name }) => {
    const cases = alertCases.filter(({ alert }) => alert === name).map(({ firing }) => Object.values(firing));
    const isResolving = (states: readonly (readonly Firing[])[]) =>
      states.some((state, index) => state.length > 0 && states.slice(index).some((later) => later.length === 0));
    expect(cases.some(isResolving), "resolving").toBe(true);
    expect(
      cases.some((states) => states.flat().length === 0 || states[0]?.length === 0),
      "not firing",
    ).toBe(true);
  });
});
