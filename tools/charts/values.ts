/** The values of the operator's Helm chart. */
import { runbookUrl } from "../monitoring/rule-files.ts";
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
  "DATABASE_CA_FILE",
]);

interface DeploymentSpec {
  readonly replicas: number;
  readonly strategy: unknown;
  readonly template: {
    readonly spec: {
      readonly securityContext: unknown;
      readonly containers: readonly [Readonly<Record<string, unknown>>];
    };
  };
}

/** One value of the chart: its default, its JSON schema, and one line of description. */
export interface Value {
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
      value: { repository: "", tag: "", digest: "", pullPolicy: container.imagePullPolicy },
      schema: closed({
        repository: text,
        tag: text,
        digest: { ...text, pattern: "^(sha256:[0-9a-f]{64})?$" },
        pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
      }),
      comment: "repository is required. tag: empty means the version of the chart. digest: takes precedence over tag.",
    },
    imagePullSecrets: { value: [], schema: list(anyObject), comment: "References to Secrets, as a pod has them." },
    replicas: {
      value: spec.replicas,
      schema: { type: "integer", minimum: 1, maximum: 10 },
      comment: "One replica acts, the others stand by.",
    },
    ...nameValues(),
    ...accessValues(),
    ...monitoringValues(),
    ...podValues(spec),
    ...connectionMore(),
  };
}

const named = (name: string, key: string) => ({ name, key });
const namedSchema = closed({ name: text, key: { ...text, minLength: 1 } });
const flag = { type: "boolean" };

function nameValues(): Readonly<Record<string, Value>> {
  return {
    nameOverride: { value: "", schema: text, comment: "In place of endpoint-operator in names and labels." },
    fullnameOverride: { value: "", schema: text, comment: "The beginning of the names of all objects." },
    commonLabels: { value: {}, schema: map, comment: "Labels of every object and of the pods." },
    crds: {
      value: { enabled: true },
      schema: closed({ enabled: flag }),
      comment:
        "Installs and upgrades the CRDs; they stay when the chart goes. false: for the second release in a cluster, or with the chart endpoint-operator-crds.",
    },
    secretsRole: {
      value: { create: true },
      schema: closed({ create: flag }),
      comment:
        "The ClusterRole endpoint-operator-secrets, which namespaces bind. false: for the second release in a cluster.",
    },
    serviceAccount: {
      value: { create: true, name: "", annotations: {} },
      schema: closed({ create: flag, name: text, annotations: map }),
      comment: "name: empty means the name of the release's objects.",
    },
  };
}

function accessValues(): Readonly<Record<string, Value>> {
  return {
    listenAddress: {
      value: "",
      schema: { ...text, pattern: "^(|[0-9.]+|\\[[0-9a-fA-F:]+\\])$" },
      comment: "The address of metrics and probes. Empty: 0.0.0.0. For pods that have IPv6 only: [::].",
    },
    networkPolicy: {
      value: { enabled: true, egress: [] },
      schema: closed({ enabled: flag, egress: list(anyObject) }),
      comment: "egress: rules of a NetworkPolicy. Empty: what the operator calls is not limited.",
    },
    metricsAuth: {
      value: { enabled: false, tokenSecret: named("", "token") },
      schema: closed({ enabled: flag, tokenSecret: namedSchema }),
      comment:
        "enabled: /metrics needs a bearer token that the API server accepts. tokenSecret: the token of Prometheus, for the PodMonitor.",
    },
  };
}

function monitoringValues(): Readonly<Record<string, Value>> {
  const part = { enabled: true, labels: {} };
  const partSchema = { enabled: flag, labels: map };
  return {
    monitoring: {
      value: {
        enabled: false,
        runbookUrl: runbookUrl("{name}"),
        podMonitor: { ...part, interval: "" },
        rules: part,
        dashboard: { ...part, labels: { grafana_dashboard: "1" } },
      },
      schema: closed({
        enabled: flag,
        runbookUrl: { type: "string", pattern: "\\{name\\}" },
        podMonitor: closed({ ...partSchema, interval: { ...text, pattern: "^([0-9]+(ms|s|m|h))?$" } }),
        rules: closed(partSchema),
        dashboard: closed(partSchema),
      }),
      comment:
        "PodMonitor, PrometheusRule and Grafana dashboard. The first two are left out if the cluster does not have the Prometheus operator. runbookUrl: the link in alerts.",
    },
  };
}

function connectionMore(): Readonly<Record<string, Value>> {
  return {
    database: {
      value: { caConfigMap: named("", "ca.crt") },
      schema: closed({ caConfigMap: namedSchema }),
      comment:
        "caConfigMap: the ConfigMap with the authority of the databases' certificates, for the Secrets of applications.",
    },
    tracing: {
      value: { headersSecret: named("", "headers") },
      schema: closed({ headersSecret: namedSchema }),
      comment:
        "headersSecret: the Secret with the headers for the receiver of traces. The receiver itself is settings.OTEL_EXPORTER_OTLP_ENDPOINT.",
    },
    extraEnv: {
      value: [],
      schema: list(anyObject),
      comment: "More environment variables of the container, for instance HTTPS_PROXY.",
    },
    extraVolumes: { value: [], schema: list(anyObject), comment: "More volumes of the pods." },
    extraVolumeMounts: { value: [], schema: list(anyObject), comment: "Where the container mounts them." },
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

function podValues({ strategy, template }: DeploymentSpec): Readonly<Record<string, Value>> {
  const { securityContext, containers } = template.spec;
  const [container] = containers;
  const object = (value: unknown, comment: string) => ({ value, schema: anyObject, comment });
  return {
    resources: object(container.resources, "Of the container."),
    platform: {
      value: "",
      schema: { enum: ["", "Kubernetes", "OpenShift"] },
      comment: "OpenShift: the pods get no fixed user id. Empty: as the cluster says.",
    },
    podSecurityContext: object(securityContext, "Of the pods."),
    securityContext: object(container.securityContext, "Of the container."),
    livenessProbe: object(container.livenessProbe, "Of the container."),
    readinessProbe: object(container.readinessProbe, "Of the container."),
    strategy: object(strategy, "Of the Deployment."),
    podDisruptionBudget: {
      value: { enabled: true, maxUnavailable: 1 },
      schema: closed({ enabled: flag, maxUnavailable: { type: ["integer", "string"] } }),
      comment: "A drained node may take one replica, never both at once.",
    },
    affinity: object({}, "Of the pods. Empty: replicas prefer different nodes."),
    nodeSelector: { value: {}, schema: map, comment: "Of the pods." },
    tolerations: { value: [], schema: list(anyObject), comment: "Of the pods." },
    topologySpreadConstraints: { value: [], schema: list(anyObject), comment: "Of the pods." },
    priorityClassName: { value: "", schema: text, comment: "Of the pods." },
    podAnnotations: { value: {}, schema: map, comment: "More annotations of the pods." },
    podLabels: { value: {}, schema: map, comment: "More labels of the pods." },
  };
}
