/** Tests that the Helm charts install the same objects as kustomize. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { adminKubectl } from "../support/api-server.ts";
import { type Helm, helmOf, refusalOf } from "../support/helm.ts";

// biome-ignore lint/suspicious/noExplicitAny: a manifest of any kind, compared as a whole
type Manifest = any;

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const namespace = "endpoint-operator-system";
const url = "https://control-plane.example.com/api/v2";

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
    const file = path.join(await mkdtemp(path.join(tmpdir(), "endpoint-operator-values-")), "values.yaml");
    onTestFinished(() => rm(path.dirname(file), { recursive: true }));
    await writeFile(file, "settings:\n  CONTROL_PLANE_REQUESTS_PER_MINUTE: 1000000\n");
    const required = ["--set", `controlPlane.url=${url}`, "--set", "image.repository=x"];
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
  const required = ["--set", `controlPlane.url=${url}`, "--set", "image.repository=x"];
  expect(await helm(["lint", "--strict", ...charts, ...required])).toContain("2 chart(s) linted, 0 chart(s) failed");
});
