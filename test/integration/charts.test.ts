/** Tests that the Helm charts install the same objects as kustomize. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { findAsset } from "../../tools/assets/resolve-assets.ts";
import { runCommand } from "../../tools/assets/run-command.ts";
import { adminKubectl } from "../support/api-server.ts";
import { type Helm, helmOf, refusalOf } from "../support/helm.ts";

// biome-ignore lint/suspicious/noExplicitAny: a manifest of any kind, compared as a whole
type Manifest = any;

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const namespace = "endpoint-operator-system";
const url = "https://control-plane.example.com/api/v2";
const required = ["--set", `controlPlane.url=${url}`, "--set", "image.repository=x"];

async function chartObjects(helm: Helm, chart: string, values: readonly string[]): Promise<readonly Manifest[]> {
  const sets = [...(chart === "endpoint-operator" ? ["image.repository=endpoint-operator"] : []), ...values];
  const options = sets.flatMap((value) => ["--set", value]);
  const place = ["--namespace", namespace, "--api-versions", "monitoring.coreos.com/v1"];
  return objectsIn(await helm(["template", chart, pathOf(`charts/${chart}`), ...place, ...options]));
}

async function kustomizeObjects(...folders: readonly string[]): Promise<readonly Manifest[]> {
  const texts = await Promise.all(folders.map((folder) => adminKubectl().run(["kustomize", pathOf(folder)])));
  return texts.flatMap(objectsIn);
}

/** @returns the path of a file with this text; it is removed when the test ends */
async function yamlFile(text: string): Promise<string> {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "endpoint-operator-charts-")), "file.yaml");
  onTestFinished(() => rm(path.dirname(file), { recursive: true }));
  await writeFile(file, text);
  return file;
}

function objectsIn(text: string): readonly Manifest[] {
  return parseAllDocuments(text, { version: "1.1" }).flatMap((document) => document.toJS() ?? []);
}

/** The labels of Helm. They also tell the pods of two releases apart. */
const labelsOfHelm = [
  "app.kubernetes.io/instance",
  "app.kubernetes.io/managed-by",
  "app.kubernetes.io/version",
  "helm.sh/chart",
];

/**
 * By kind, namespace and name, without what differs on purpose: the labels of Helm, and the Namespace, which Helm leaves
 * to its user. kustomize rolls the Deployment by a hash in the name of the ConfigMap, and Helm by an annotation.
 */
function comparable(manifests: readonly Manifest[]): Readonly<Record<string, Manifest>> {
  const entries = manifests.flatMap((manifest) => {
    if (manifest.kind === "Namespace") return [];
    const text = JSON.stringify(manifest).replaceAll(/(endpoint-operator-settings)-[a-z0-9]{10}/g, "$1");
    const object = JSON.parse(text, (key, value) => (labelsOfHelm.includes(key) ? undefined : value));
    delete object.spec?.template?.metadata?.annotations?.["checksum/settings"];
    return [[`${object.kind} ${object.metadata.namespace ?? ""}/${object.metadata.name}`, object] as const];
  });
  return Object.fromEntries(entries);
}

describe("charts/endpoint-operator", () => {
  for (const { name, values, folders } of [
    { name: "no value but the URL", values: [], folders: ["crds", "deploy/base"] },
    { name: "watchNamespaces", values: ["watchNamespaces={shop}"], folders: ["crds", "deploy/namespaced"] },
    { name: "metricsAuth", values: ["metricsAuth.enabled=true"], folders: ["crds", "deploy/metrics-auth"] },
    { name: "monitoring", values: ["monitoring.enabled=true"], folders: ["crds", "deploy/base", "deploy/monitoring"] },
  ]) {
    test(`${name} → the objects of kustomize, field by field`, async (context) => {
      const helm = await helmOf(context);
      const chart = await chartObjects(helm, "endpoint-operator", [`controlPlane.url=${url}`, ...values]);
      const kustomize = await kustomizeObjects(...folders);
      expect(kustomize.length).toBeGreaterThan(10);
      expect(comparable(chart)).toEqual(comparable(kustomize));
    });
  }

  test("a large number in a file of values → stands in the settings with all its digits", async (context) => {
    const helm = await helmOf(context);
    const file = await yamlFile("settings:\n  CONTROL_PLANE_REQUESTS_PER_MINUTE: 1000000\n");
    const chart = ["template", "x", pathOf("charts/endpoint-operator"), ...required];
    const objects = objectsIn(await helm([...chart, "--values", file]));
    const { data } = objects.find(({ kind }) => kind === "ConfigMap");
    expect(data.CONTROL_PLANE_REQUESTS_PER_MINUTE).toBe("1000000");
  });

  const withUrl = (...values: readonly string[]) => [`controlPlane.url=${url}`, ...values];
  test.each([
    ["no URL", [], "controlPlane.url is required"],
    ["no image", withUrl("image.repository="), "image.repository is required"],
    [
      "no service account, and no name of one",
      withUrl("serviceAccount.create=false"),
      "serviceAccount.name is required",
    ],
    ["a URL that does not end in /v2", ["controlPlane.url=https://x/v1"], "/controlPlane/url"],
    ["a setting that does not exist", withUrl("settings.LOGLEVEL=info"), "LOGLEVEL"],
    ["a setting that another value states", withUrl("settings.HEALTH_ADDR=:1"), "HEALTH_ADDR"],
    ["no leader election with two replicas", withUrl("settings.LEADER_ELECTION=false"), "LEADER_ELECTION"],
    ["a lease that the Role does not name", withUrl("settings.LEASE_NAME=x"), "LEASE_NAME"],
    ["a cluster id that is a number", withUrl("settings.CLUSTER_ID=20261122"), "CLUSTER_ID"],
    ["an unknown value", withUrl("replica=1"), "replica"],
    ["a runbook link without the alert's name", withUrl("monitoring.runbookUrl=x"), "/monitoring/runbookUrl"],
    [
      "no Secret with the token of Prometheus",
      withUrl("monitoring.enabled=true", "metricsAuth.enabled=true"),
      "metricsAuth.tokenSecret.name",
    ],
    ["a digest that is none", withUrl("image.digest=latest"), "/image/digest"],
  ])("%s → refused, and the message names it", async (_, values, named) => {
    const helm = await helmOf({ skip: (note) => expect.unreachable(note) });
    expect(await refusalOf(chartObjects(helm, "endpoint-operator", values))).toContain(named);
  });
});

describe("charts/endpoint-operator-crds", () => {
  test("the chart → the CRDs of crds/, which no tool may prune", async (context) => {
    const helm = await helmOf(context);
    const objects = await chartObjects(helm, "endpoint-operator-crds", []);
    const crds = await kustomizeObjects("crds");
    expect(crds).toHaveLength(5);
    expect(comparable(objects)).toEqual(comparable(crds));
    for (const { metadata } of objects) {
      expect(metadata.annotations).toMatchObject({
        "helm.sh/resource-policy": "keep",
        "kustomize.toolkit.fluxcd.io/prune": "disabled",
        "argocd.argoproj.io/sync-options": expect.stringMatching(/Delete=false,Prune=false/),
      });
    }
  });
});

test("both charts → Helm's linter finds nothing, not even a warning", async (context) => {
  const helm = await helmOf(context);
  const charts = ["endpoint-operator", "endpoint-operator-crds"].map((name) => pathOf(`charts/${name}`));
  expect(await helm(["lint", "--strict", ...charts, ...required])).toContain("2 chart(s) linted, 0 chart(s) failed");
});

/** What kube-score finds with the default values of cert-manager's and CloudNativePG's charts too (read 2026-11-28). */
const foundInPeers = [
  "--ignore-container-cpu-limit",
  ...["container-image-pull-policy", "pod-networkpolicy"].flatMap((check) => ["--ignore-test", check]),
];
const strictest = ["image.pullPolicy=Always", "resources.limits.cpu=1", "networkPolicy.egress[0].ports[0].port=443"];

test.for([
  ["the default values → kube-score finds nothing that charts of peers do not have", [], foundInPeers],
  ["values for a CPU limit, pulls and egress → kube-score finds nothing at all", strictest, []],
] as const)("%s", async ([_, values, ignored], context) => {
  const helm = await helmOf(context);
  const command = await findAsset("kube-score");
  if (command === undefined) return context.skip("there is no kube-score; run: npm run assets -- --with kube-score");
  const sets = values.flatMap((value) => ["--set", value]);
  const place = ["--namespace", namespace, ...required, ...sets];
  const file = await yamlFile(await helm(["template", "x", pathOf("charts/endpoint-operator"), ...place]));
  const args = ["score", "--kubernetes-version=v1.35", "--exit-one-on-warning", ...ignored, file];
  expect(await runCommand({ command, args })).toContain("apps/v1/Deployment x-endpoint-operator");
});
