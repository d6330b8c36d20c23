/** The values of the operator's Helm chart. */
import { runbookPath } from "../monitoring/rule-files.ts";
import type { DeploySources } from "./deploy-sources.ts";
import { manifestsOf } from "./deploy-sources.ts";

/** Settings that the chart sets by other values, or that must match the ports of the Deployment. */
const fixedSettings: ReadonlySet<string> = new Set([
  "CONTROL_PLANE_URL",
  "CONTROL_PLANE_API_KEY",
  "CONTROL_PLANE_API_KEY_FILE",
  "CONTROL_PLANE_API_KEY_SECRET",
  "KUBECONFIG",
  "METRICS_ADDR",
  "HEALTH_ADDR",
  "METRICS_AUTH",
  "WATCH_NAMESPACES",
  // With the chart's number of replicas, the leader election must be on. The chart's Role allows it.
  "LEADER_ELECTION",
  "LEASE_NAME",
  "LEASE_NAMESPACE",
  // No value of the chart mounts a file.
  "DATABASE_CA_FILE",
]);

interface DeploymentSpec {
  readonly replicas: number;
  readonly template: {
    readonly spec: {
      readonly affinity: unknown;
      readonly terminationGracePeriodSeconds: number;
      readonly containers: readonly [{ readonly imagePullPolicy: string; readonly resources: unknown }];
    };
  };
}

/** One value of the chart: its default, its JSON schema, and one line of description. */
interface Value {
  readonly value: unknown;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly comment: string;
}

const text = { type: "string" };
const map = { type: "object", additionalProperties: { type: "string" } };
const anyObject = { type: "object" };
const list = (items: unknown) => ({ type: "array", items });
const closed = (properties: Readonly<Record<string, unknown>>) => ({
  ...{ type: "object", additionalProperties: false, properties },
});

/** Returns the values in the order of values.yaml. The defaults come from `deploy/base`. Pure. */
export function operatorValues(sources: DeploySources): Readonly<Record<string, Value>> {
  const [deployment] = manifestsOf(sources, "deploy/base/deployment.yaml");
  const spec = deployment?.spec as DeploymentSpec;
  const [container] = spec.template.spec.containers;
  return {
    ...connectionValues(sources),
    image: {
      value: { repository: "endpoint-operator", tag: "", digest: "", pullPolicy: container.imagePullPolicy },
      schema: closed({
        repository: { ...text, minLength: 1 },
        tag: text,
        digest: { ...text, pattern: "^(sha256:[0-9a-f]{64})?$" },
        pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
      }),
      comment: "tag: empty means the version of the chart. digest: takes precedence over tag.",
    },
    imagePullSecrets: { value: [], schema: list(anyObject), comment: "References to Secrets, as a pod has them." },
    replicas: {
      value: spec.replicas,
      schema: { type: "integer", minimum: 1, maximum: 10 },
      comment: "One replica acts, the others stand by.",
    },
    crds: {
      value: { enabled: true },
      schema: closed({ enabled: { type: "boolean" } }),
      comment:
        "Installs and upgrades the CRD with this chart; it stays when the chart goes. false: use endpoint-operator-crds.",
    },
    networkPolicy: {
      value: { enabled: true, egress: [] },
      schema: closed({ enabled: { type: "boolean" }, egress: list(anyObject) }),
      comment: "egress: rules of a NetworkPolicy. Empty: what the operator calls is not limited.",
    },
    metricsAuth: {
      value: { enabled: false, tokenSecret: { name: "", key: "token" } },
      schema: closed({
        enabled: { type: "boolean" },
        tokenSecret: closed({ name: text, key: { ...text, minLength: 1 } }),
      }),
      comment:
        "enabled: /metrics needs a bearer token that the API server accepts. tokenSecret: the token of Prometheus, for the PodMonitor.",
    },
    monitoring: {
      value: { enabled: false, runbookUrl: runbookPath("{name}") },
      schema: closed({ enabled: { type: "boolean" }, runbookUrl: { type: "string", pattern: "\\{name\\}" } }),
      comment:
        "PodMonitor, PrometheusRule and Grafana dashboard; needs the Prometheus operator. runbookUrl: the link in alerts, for instance https://docs.example.com/runbooks/{name}/; by default the page's path in the repository.",
    },
    resources: { value: container.resources, schema: anyObject, comment: "Of the one container." },
    ...podValues(spec),
  };
}

function connectionValues(sources: DeploySources): Readonly<Record<string, Value>> {
  const adjustable = sources.settingNames.filter((name) => !fixedSettings.has(name));
  const settings = [...sources.settings].filter(([name]) => !fixedSettings.has(name));
  // Helm reads a number as a floating-point number, so a cluster id of digits alone would lose digits.
  const settingOf = (name: string) => (name === "CLUSTER_ID" ? text : { type: ["string", "integer", "boolean"] });
  return {
    controlPlane: {
      value: { url: "", apiKeySecret: { name: "control-plane-api-key", key: "api-key" } },
      schema: closed({
        url: { ...text, pattern: "^(https?://.+/v2)?$" },
        apiKeySecret: closed({ name: { ...text, minLength: 1 }, key: { ...text, minLength: 1 } }),
      }),
      comment: "url is required and ends in /v2. apiKeySecret: the Secret with the API key, which you create.",
    },
    settings: {
      value: Object.fromEntries(settings),
      schema: closed(Object.fromEntries(adjustable.map((name) => [name, settingOf(name)]))),
      comment: "Environment variables, see docs/settings.md. A change rolls the pods.",
    },
    watchNamespaces: {
      value: [],
      schema: { ...list({ ...text, pattern: "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" }), uniqueItems: true },
      comment: "Empty: all namespaces. Else the operator has rights in these alone; they must exist.",
    },
  };
}

function podValues(spec: DeploymentSpec): Readonly<Record<string, Value>> {
  return {
    affinity: { value: spec.template.spec.affinity, schema: anyObject, comment: "Of the pods." },
    nodeSelector: { value: {}, schema: map, comment: "Of the pods." },
    tolerations: { value: [], schema: list(anyObject), comment: "Of the pods." },
    topologySpreadConstraints: { value: [], schema: list(anyObject), comment: "Of the pods." },
    priorityClassName: { value: "", schema: text, comment: "Of the pods." },
    podAnnotations: { value: {}, schema: map, comment: "More annotations of the pods." },
    podLabels: { value: {}, schema: map, comment: "More labels of the pods." },
  };
}
