/** Tests the start and the stop of Prometheus and Alertmanager. */
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { startAlertmanager } from "../../../tools/prometheus/alertmanager.ts";
import { startMonitoringStack } from "../../../tools/prometheus/monitoring-stack.ts";
import { startPrometheus } from "../../../tools/prometheus/prometheus.ts";
import { startWebhookReceiver } from "../../../tools/prometheus/webhook-receiver.ts";
import { monitoringTool } from "../../support/monitoring-tools.ts";
import { isAlive } from "../../support/processes.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { writeScript } from "./asset-fixture.ts";

const isThere = (name: string) =>
  stat(name).then(
    () => true,
    () => false,
  );

/**
 * Makes a script that writes its process id and arguments to a file and then becomes the program.
 * @returns the path of the script, and a function that reads the file
 */
async function noted(binary: string): Promise<{ readonly script: string; readonly read: () => Promise<string> }> {
  const directory = await mkdtemp(path.join(tmpdir(), "monitoring-stack-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const notes = path.join(directory, "notes");
  const script = path.join(directory, "script");
  await writeScript(script, `echo "$$" "$@" > '${notes}'\nexec '${binary}' "$@"`);
  return { script, read: () => readFile(notes, "utf8") };
}

describe("startPrometheus", () => {
  test("started → answers queries; stopped → its process and its directory are gone", async (context) => {
    const binary = await monitoringTool("prometheus", context);
    const prometheus = await startPrometheus({
      binary,
      config: { scrape_configs: [] },
      features: ["exemplar-storage"],
    });
    onTestFinished(() => prometheus.stop());
    expect(await prometheus.query("1 + 1")).toEqual([{ labels: {}, value: 2 }]);
    expect(await prometheus.query("vector(1) / 0")).toEqual([{ labels: {}, value: Number.POSITIVE_INFINITY }]);
    expect(await prometheus.query("absent(nothing)")).toEqual([{ labels: {}, value: 1 }]);
    await expect(prometheus.query("sum(")).rejects.toThrow("parse error");
    await expect(prometheus.query("up[1m]")).rejects.toThrow("not a vector");
    expect(await isThere(prometheus.directory)).toBe(true);
    await prometheus.stop();
    expect(isAlive(prometheus.pid)).toBe(false);
    expect(await isThere(prometheus.directory)).toBe(false);
    await prometheus.stop();
  });

  test("other files and a reload → it goes by them; a broken one → refused with its words", async (context) => {
    const binary = await monitoringTool("prometheus", context);
    const prometheus = await startPrometheus({ binary, config: { rule_files: ["rules.yaml"] } });
    onTestFinished(() => prometheus.stop());
    const rule = { alert: "Always", expr: "vector(1)", labels: { severity: "warning" } };
    await prometheus.writeFile(
      "rules.yaml",
      JSON.stringify({ groups: [{ name: "g", interval: "100ms", rules: [rule] }] }),
    );
    await prometheus.reload();
    const alert = await waitUntil(async () => (await prometheus.alerts())[0], { what: "the alert fires" });
    expect(alert).toMatchObject({ state: "firing", labels: { alertname: "Always", severity: "warning" } });
    await prometheus.writeFile("rules.yaml", "groups: nonsense");
    await expect(prometheus.reload()).rejects.toThrow("refused");
  });

  test("a configuration that it refuses → its words, nothing is left", async (context) => {
    const binary = await monitoringTool("prometheus", context);
    const error: unknown = await startPrometheus({ binary, config: { nonsense: 1 } }).catch((reason) => reason);
    expect(error).toMatchObject({
      name: "ComponentError",
      message: expect.stringContaining("field nonsense not found"),
    });
    const [, directory = ""] = /Last lines of (\S+)\/prometheus\.log:/.exec((error as Error).message) ?? [];
    expect(directory).not.toBe("");
    expect(await isThere(directory)).toBe(false);
  });
});

test("a stack whose Prometheus cannot start → the others are stopped too", async (context) => {
  const alertmanager = await noted(await monitoringTool("alertmanager", context));
  const assets = { prometheus: "/no/such/file", alertmanager: alertmanager.script };
  await expect(startMonitoringStack({ assets, targets: [] })).rejects.toThrow("/no/such/file");
  const [, pid = "", directory = ""] =
    /^(\d+) --config\.file=(\S+)\/alertmanager\.yml /.exec(await alertmanager.read()) ?? [];
  expect(isAlive(Number(pid))).toBe(false);
  expect(directory).not.toBe("");
  expect(await isThere(directory)).toBe(false);
});

test("Alertmanager → ready, and it looks for no peers", async (context) => {
  const binary = await monitoringTool("alertmanager", context);
  const config = { route: { receiver: "none" }, receivers: [{ name: "none" }] };
  const alertmanager = await startAlertmanager({ binary, config });
  onTestFinished(() => alertmanager.stop());
  const answer = await fetch(`${alertmanager.url}/api/v2/status`);
  expect(await answer.json()).toMatchObject({ cluster: { status: "disabled" } });
});

describe("startWebhookReceiver", () => {
  const notification = { alerts: [{ status: "firing", labels: { alertname: "A" }, annotations: {} }] };

  test("notifications → their alerts in order; anything else → 400 and nothing noted", async () => {
    const receiver = await startWebhookReceiver();
    onTestFinished(() => receiver.close());
    const post = async (body: string) => (await fetch(receiver.url, { method: "POST", body })).status;
    expect(await post(JSON.stringify(notification))).toBe(200);
    expect(await post("{")).toBe(400);
    expect(await post(JSON.stringify({ alerts: "none" }))).toBe(400);
    const resolved = { alerts: [{ ...notification.alerts[0], status: "resolved" }] };
    expect(await post(JSON.stringify(resolved))).toBe(200);
    expect(receiver.alerts.map(({ status }) => status)).toEqual(["firing", "resolved"]);
  });

  test("a body beyond all measure → cut off", async () => {
    const receiver = await startWebhookReceiver();
    onTestFinished(() => receiver.close());
    await expect(fetch(receiver.url, { method: "POST", body: "x".repeat(2_000_000) })).rejects.toThrow();
    expect(receiver.alerts).toEqual([]);
  });
});
