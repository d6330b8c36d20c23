/** Tests that each value of the operator's Helm chart does something, and that two releases share a namespace. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { type Helm, helmOf } from "../support/helm.ts";

// biome-ignore lint/suspicious/noExplicitAny: a manifest of any kind
type Manifest = any;

const chart = fileURLToPath(new URL("../../charts/endpoint-operator", import.meta.url));

/** Values with which every part of the chart is there, so that each value has an effect. */
const everything = {
  controlPlane: { url: "https://control-plane.example.com/api/v2" },
  image: { repository: "registry.example.com/op" },
  monitoring: { enabled: true },
  metricsAuth: { enabled: true, tokenSecret: { name: "prometheus" } },
  database: { caConfigMap: { name: "authority" } },
  tracing: { headersSecret: { name: "receiver" } },
};

/** Another value for each value of the chart, and a text that the objects then have; `undefined`: a part is gone. */
const changes: Readonly<Record<string, readonly [value: unknown, shown: string | undefined]>> = {
  "controlPlane.url": ["https://other.example.com/v2", 'CONTROL_PLANE_URL: "https://other.example.com/v2"'],
  "controlPlane.apiKeySecret.name": ["other-secret", "secretName: other-secret"],
  "controlPlane.apiKeySecret.key": ["other-key", "/etc/endpoint-operator/control-plane/other-key"],
  "settings.LOG_LEVEL": ["debug", 'LOG_LEVEL: "debug"'],
  watchNamespaces: [["shop", "mail"], 'WATCH_NAMESPACES: "shop,mail"'],
  "image.repository": ["other.example.com/op", "image: other.example.com/op:"],
  "image.tag": ["v9", "registry.example.com/op:v9"],
  "image.digest": [`sha256:${"a".repeat(64)}`, `registry.example.com/op@sha256:${"a".repeat(64)}`],
  "image.pullPolicy": ["Always", "imagePullPolicy: Always"],
  imagePullSecrets: [[{ name: "pull" }], "imagePullSecrets:\n        - name: pull"],
  replicas: [3, "replicas: 3"],
  nameOverride: ["other", "app.kubernetes.io/name: other"],
  fullnameOverride: ["other", "name: other-lease"],
  commonLabels: [{ team: "db" }, "team: db"],
  "crds.enabled": [false, undefined],
  "secretsRole.create": [false, undefined],
  "serviceAccount.create": [false, undefined],
  "serviceAccount.name": ["other", "serviceAccountName: other"],
  "serviceAccount.annotations": [{ role: "x" }, "annotations:\n    role: x"],
  listenAddress: ["[::]", 'METRICS_ADDR: "[::]:8080"'],
  "networkPolicy.enabled": [false, undefined],
  "networkPolicy.egress": [[{ ports: [{ port: 443 }] }], "- Egress"],
  "metricsAuth.enabled": [false, undefined],
  "metricsAuth.tokenSecret.name": ["other-token", "name: other-token"],
  "metricsAuth.tokenSecret.key": ["token-key", "key: token-key"],
  "monitoring.enabled": [false, undefined],
  "monitoring.runbookUrl": ["https://x.example.com/{name}", "runbook_url: https://x.example.com/EndpointOperatorDown"],
  "monitoring.podMonitor.enabled": [false, undefined],
  "monitoring.podMonitor.labels": [{ release: "p" }, "release: p"],
  "monitoring.podMonitor.interval": ["17s", "interval: 17s"],
  "monitoring.rules.enabled": [false, undefined],
  "monitoring.rules.labels": [{ release: "r" }, "release: r"],
  "monitoring.dashboard.enabled": [false, undefined],
  "monitoring.dashboard.labels": [{ grafana: "d" }, "grafana: d"],
  resources: [{ limits: { memory: "1Gi" } }, "memory: 1Gi"],
  platform: ["OpenShift", undefined],
  podSecurityContext: [{ runAsUser: 7 }, "runAsUser: 7"],
  securityContext: [{ runAsGroup: 7 }, "runAsGroup: 7"],
  livenessProbe: [{ periodSeconds: 77 }, "periodSeconds: 77"],
  readinessProbe: [{ periodSeconds: 78 }, "periodSeconds: 78"],
  strategy: [{ type: "Recreate", rollingUpdate: null }, "type: Recreate"],
  "podDisruptionBudget.enabled": [false, undefined],
  "podDisruptionBudget.maxUnavailable": ["50%", "maxUnavailable: 50%"],
  affinity: [{ nodeAffinity: {} }, "affinity:\n        nodeAffinity"],
  nodeSelector: [{ disk: "ssd" }, "nodeSelector:\n        disk: ssd"],
  tolerations: [[{ key: "t" }], "tolerations:\n        - key: t"],
  topologySpreadConstraints: [[{ maxSkew: 1 }], "topologySpreadConstraints:\n        - maxSkew: 1"],
  priorityClassName: ["high", "priorityClassName:\n        high"],
  podAnnotations: [{ note: "x" }, "note: x"],
  podLabels: [{ tier: "x" }, "tier: x"],
  "database.caConfigMap.name": ["other", "configMap:\n            name: other"],
  "database.caConfigMap.key": ["other.crt", "/etc/endpoint-operator/database/other.crt"],
  "tracing.headersSecret.name": ["other", "secretKeyRef:\n                  name: other"],
  "tracing.headersSecret.key": ["headers-key", "key: headers-key"],
  extraEnv: [
    [{ name: "HTTPS_PROXY", value: "http://proxy:3128" }],
    "- name: HTTPS_PROXY\n              value: http://proxy",
  ],
  extraVolumes: [[{ name: "more", emptyDir: {} }], "- emptyDir: {}\n          name: more"],
  extraVolumeMounts: [[{ name: "more", mountPath: "/more" }], "- mountPath: /more\n              name: more"],
};

/** The number of renderings in which values get other ones. */
const groupCount = 6;

const setOf = (name: string, value: unknown) => `${name}=${JSON.stringify(value)}`;

async function render(helm: Helm, sets: readonly string[], release = "endpoint-operator", serves = "x/v1") {
  const apis = ["--api-versions", "monitoring.coreos.com/v1", "--api-versions", serves];
  const place = ["--namespace", "endpoint-operator-system", ...apis];
  const all = [...Object.entries(everything).map(([name, value]) => setOf(name, value)), ...sets];
  return await helm(["template", release, chart, ...place, ...all.flatMap((set) => ["--set-json", set])]);
}

function objectsIn(text: string): readonly Manifest[] {
  return parseAllDocuments(text, { version: "1.1" }).flatMap((document) => document.toJS() ?? []);
}

const identity = ({ kind, metadata }: Manifest) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;

describe("the values of the chart", () => {
  test("the table above → every value of values.yaml, and no other", async () => {
    const values = parse(await readFile(`${chart}/values.yaml`, "utf8"));
    const missing = leavesOf(values).filter((leaf) => !Object.keys(changes).some((name) => isWithin(leaf, name)));
    expect(missing).toEqual([]);
    const known = Object.keys(changes).filter(
      (name) => name.split(".").reduce((at, key) => at?.[key], values) === undefined,
    );
    expect(known).toEqual([]);
  });

  test("values set to others → each has its effect on the objects", async (context) => {
    const helm = await helmOf(context);
    // Without a service account of its own, the chart needs the name of one.
    const account = 'serviceAccount.name="endpoint-operator"';
    const before = await render(helm, [account]);
    const sets = Object.entries(changes).map(([name, [value, shown]]) => ({ name, shown, set: setOf(name, value) }));
    for (const { name, set } of sets.filter(({ shown }) => shown === undefined))
      expect((await render(helm, [account, set])).length, name).toBeLessThan(before.length);
    // Neighbours in the table can exclude each other, so they come into different groups.
    const visible = sets.filter(({ shown }) => shown !== undefined);
    for (const first of visible.slice(0, groupCount).keys()) {
      const group = visible.filter((_, at) => at % groupCount === first);
      const after = await render(helm, [account, ...group.map(({ set }) => set)]);
      for (const { name, shown = "" } of group)
        expect({ name, was: before.includes(shown), is: after.includes(shown) }).toEqual({
          name,
          was: false,
          is: true,
        });
    }
  });
});

test.for([
  ["named in the values", ['platform="OpenShift"'], undefined],
  ["found by its API", [], "security.openshift.io/v1"],
] as const)("OpenShift, %s → no fixed user or group; all else stays", async ([_, sets, serves], context) => {
  const helm = await helmOf(context);
  const pod = (text: string) => objectsIn(text).find(({ kind }) => kind === "Deployment").spec.template.spec;
  const [plain, there] = [pod(await render(helm, [])), pod(await render(helm, sets, undefined, serves))];
  const { runAsUser, runAsGroup, fsGroup, ...rest } = plain.securityContext;
  expect([runAsUser, runAsGroup, fsGroup]).toEqual([65532, 65532, 65532]);
  expect(there.securityContext).toEqual(rest);
  expect(there.containers[0].securityContext).toEqual(plain.containers[0].securityContext);
});

test("no Prometheus operator in the cluster → neither PodMonitor nor PrometheusRule, but the dashboard", async (context) => {
  const helm = await helmOf(context);
  const sets = Object.entries(everything).flatMap(([name, value]) => ["--set-json", setOf(name, value)]);
  const kinds = objectsIn(await helm(["template", "x", chart, ...sets])).map(identity);
  expect(kinds.filter((each) => /PodMonitor|PrometheusRule|dashboard/.test(each))).toEqual([
    "ConfigMap default/x-endpoint-operator-dashboard",
  ]);
});

test("two releases in one namespace → no object of the same name, and no pod that both select", async (context) => {
  const helm = await helmOf(context);
  const first = objectsIn(await render(helm, []));
  const own = ["crds.enabled=false", "secretsRole.create=false", 'watchNamespaces=["shop"]'];
  const second = objectsIn(await render(helm, own, "second"));
  expect(second.map(identity).filter((each) => first.map(identity).includes(each))).toEqual([]);
  const selectorOf = (objects: readonly Manifest[]) =>
    objects.find(({ kind }) => kind === "Deployment").spec.selector.matchLabels;
  expect(selectorOf(first)).not.toEqual(selectorOf(second));
  for (const { kind, spec } of second) {
    if (kind === "PodDisruptionBudget" || kind === "PodMonitor")
      expect(spec.selector.matchLabels).toEqual(selectorOf(second));
    if (kind === "NetworkPolicy") expect(spec.podSelector.matchLabels).toEqual(selectorOf(second));
  }
  const lease = second.find(({ kind, metadata }) => kind === "Role" && metadata.name.endsWith("-lease"));
  const { data } = second.find(({ metadata }) => metadata.name.endsWith("-settings"));
  expect(lease.rules[1].resourceNames).toEqual([data.LEASE_NAME]);
});

/** Returns the paths of all values; what Kubernetes defines is one value. */
function leavesOf(value: unknown, path = ""): readonly string[] {
  const entries = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (entries.length === 0) return [path];
  return entries.flatMap(([key, inner]) => leavesOf(inner, path === "" ? key : `${path}.${key}`));
}

const isWithin = (leaf: string, name: string) => leaf === name || leaf.startsWith(`${name}.`);
