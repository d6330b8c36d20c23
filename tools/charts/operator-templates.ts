/** Makes the templates of the operator's Helm chart. */
import { runbookUrlPattern } from "../monitoring/rule-files.ts";
import { type DeploySources, type Manifest, manifestsOf } from "./deploy-sources.ts";
import { accountName, allLabels, fullname, helpersText, podLabels, yamlOf } from "./helpers-text.ts";
import { deploymentOf } from "./pod-template.ts";
import { expression, mergedKey, optionalBlock, templateText, verbatim } from "./template-text.ts";

const secretName = expression("{{ .Values.controlPlane.apiKeySecret.name }}");
const releaseNamespace = expression("{{ $.Release.Namespace }}");

/** Kinds without a namespace. */
const clusterKinds: ReadonlySet<string> = new Set(["ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"]);

/** Returns the templates by file name. Each is made from an object of `deploy/`. Pure. */
export function operatorTemplates(sources: DeploySources): ReadonlyMap<string, string> {
  const base = (name: string) => manifestsOf(sources, `deploy/base/${name}.yaml`);
  const unchanged = ["lease-role", "people-roles"];
  return new Map([
    ...unchanged.map((name) => [`${name}.yaml`, documents(base(name).map(placed))] as const),
    ["cluster-role.yaml", clusterRole(base("cluster-role"))],
    ["key-role.yaml", documents(base("key-role").map(placed).map(withSecretName))],
    ["metrics-auth.yaml", metricsAuth(manifestsOf(sources, "deploy/metrics-auth/metrics-auth.yaml"))],
    ["settings.yaml", settings(sources)],
    ["deployment.yaml", documents(base("deployment").map((manifest) => placed(deploymentOf(manifest))))],
    ["service-account.yaml", serviceAccount(base("service-account"))],
    ["secrets-role.yaml", onlyIf(".Values.secretsRole.create", documents(base("secrets-role").map(placed)))],
    ["disruption-budget.yaml", disruptionBudget(base("disruption-budget"))],
    ["network-policy.yaml", networkPolicy(base("network-policy"))],
    ["watched-namespaces.yaml", watchedNamespaces(sources)],
    ["monitoring.yaml", monitoring(sources)],
    ["crd.yaml", onlyIf(".Values.crds.enabled", crdTemplate(sources))],
    ["_helpers.tpl", helpersText(sources)],
  ]);
}

/** Returns the CRDs as a template: `helm upgrade` replaces them, `helm uninstall` keeps them. Pure. */
export function crdTemplate({ crd }: DeploySources): string {
  const body = verbatim(crd.replace(/^#.*\n/gm, ""));
  return body.replace(/^metadata:\n/gm, "metadata:\n  labels:\n    app.kubernetes.io/name: endpoint-operator\n");
}

/** Conditions name this role in the command that binds it, so every release uses the same one. */
const sharedRole = "endpoint-operator-secrets";
const ownName = /^endpoint-operator(?!-secrets$)/;

/** Sets names, namespace and labels of the release, also where one object refers to another. */
function placed(manifest: Manifest): Manifest {
  const { name, labels, namespace: _, ...metadata } = manifest.metadata;
  const { "app.kubernetes.io/name": __, ...more } = (labels ?? {}) as Readonly<Record<string, string>>;
  return {
    ...(ofRelease(manifest) as Manifest),
    metadata: {
      name: nameOf(String(name)),
      ...(clusterKinds.has(manifest.kind) ? {} : { namespace: releaseNamespace }),
      labels: { ...allLabels, ...more },
      ...metadata,
    },
  };
}

function nameOf(name: string): string {
  return name === sharedRole ? name : name.replace(ownName, fullname);
}

/** Renames what selects pods and what refers to other objects of the release. */
function ofRelease(manifest: object): unknown {
  return JSON.parse(JSON.stringify(manifest), (key, value) => {
    if (key === "matchLabels") return podLabels;
    if (key === "roleRef") return { ...value, name: nameOf(value.name) };
    if (key === "subjects") return [{ kind: "ServiceAccount", name: accountName, namespace: releaseNamespace }];
    if (key === "resourceNames") return value.map(nameOf);
    return value;
  });
}

/** Puts the Secret's name from the values into the Role. */
function withSecretName({ rules, ...manifest }: Manifest): object {
  const named = (rules as readonly object[] | undefined)?.map((rule) => ({ ...rule, resourceNames: [secretName] }));
  return { ...manifest, ...(named && { rules: named }) };
}

function serviceAccount([account]: readonly Manifest[]): string {
  if (account === undefined) throw new Error("service-account.yaml holds an account");
  const { metadata, ...rest } = placed(account);
  const named = { ...metadata, name: accountName, annotations: optionalBlock(".Values.serviceAccount.annotations") };
  return onlyIf(".Values.serviceAccount.create", templateText({ ...rest, metadata: named }));
}

function disruptionBudget([budget]: readonly Manifest[]): string {
  if (budget === undefined) throw new Error("disruption-budget.yaml holds a budget");
  const { spec, ...rest } = placed(budget);
  const own = { ...(spec as object), maxUnavailable: expression("{{ .Values.podDisruptionBudget.maxUnavailable }}") };
  return onlyIf(".Values.podDisruptionBudget.enabled", templateText({ ...rest, spec: own }));
}

function documents(manifests: readonly unknown[]): string {
  return manifests.map(templateText).join("---\n");
}

function onlyIf(condition: string, text: string): string {
  return `{{- if ${condition} }}\n${text}{{- end }}\n`;
}

interface ClusterRule {
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** If `watchNamespaces` is set, the rights on resources move to Roles in these namespaces. */
function clusterRole([role, binding]: readonly Manifest[]): string {
  if (role === undefined || binding === undefined) throw new Error("cluster-role.yaml holds a role and its binding");
  const { rules, ...rest } = placed(role);
  const all = rules as readonly ClusterRule[];
  // These rights stay in the cluster: the cluster's identity, and the kinds `cluster…`. With watched namespaces, a Role in
  // each of them gives what is needed of the others.
  const isClusterWide = ({ resourceNames, resources }: ClusterRule) =>
    resourceNames !== undefined || resources.every((resource) => resource.startsWith("cluster"));
  const everywhere = yamlOf(all.filter((rule) => !isClusterWide(rule)));
  const always = yamlOf(all.filter(isClusterWide));
  return `${templateText(rest)}rules:\n${onlyIf("not .Values.watchNamespaces", everywhere)}${always}---\n${documents([placed(binding)])}`;
}

function watchedNamespaces(sources: DeploySources): string {
  const inEach = manifestsOf(sources, "deploy/namespaced/watched-namespace.yaml").map((manifest) => {
    const { metadata, ...rest } = placed(manifest);
    return { ...rest, metadata: { ...metadata, namespace: expression("{{ . }}") } };
  });
  return `{{- range .Values.watchNamespaces }}\n---\n${documents(inEach)}{{- end }}\n`;
}

function metricsAuth(manifests: readonly Manifest[]): string {
  return onlyIf(".Values.metricsAuth.enabled", documents(manifests.map(placed)));
}

function settings(sources: DeploySources): string {
  const head = templateText({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `${fullname}-settings`, namespace: releaseNamespace, labels: allLabels },
  });
  const [urlName] = [...sources.settings.keys()].filter((name) => name === "CONTROL_PLANE_URL");
  return `${head}data:
  ${urlName}: {{ required "controlPlane.url is required, for instance https://control-plane.example.com/api/v2" .Values.controlPlane.url | quote }}
  CONTROL_PLANE_API_KEY_SECRET: {{ printf "%s/%s" .Values.controlPlane.apiKeySecret.name .Values.controlPlane.apiKeySecret.key | quote }}
  {{- $name := include "endpoint-operator.fullname" . }}
  {{- if ne $name "endpoint-operator" }}
  LEASE_NAME: {{ $name | quote }}
  {{- end }}
  {{- with .Values.listenAddress }}
  METRICS_ADDR: {{ printf "%s:8080" . | quote }}
  HEALTH_ADDR: {{ printf "%s:8081" . | quote }}
  {{- end }}
  {{- if .Values.metricsAuth.enabled }}
  METRICS_AUTH: Token
  {{- end }}
  {{- with .Values.watchNamespaces }}
  WATCH_NAMESPACES: {{ join "," . | quote }}
  {{- end }}
  {{- range $name, $value := .Values.settings }}
  {{ $name }}: {{ if kindIs "float64" $value }}{{ $value | int64 | toString | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}
  {{- end }}
`;
}

function networkPolicy(manifests: readonly Manifest[]): string {
  const [policy] = manifests.map(placed);
  if (policy === undefined) throw new Error("network-policy.yaml holds a policy");
  const { policyTypes: _, ...spec } = policy.spec as Record<string, unknown>;
  const text = `${templateText({ ...policy, spec })}  policyTypes:
    - Ingress
  {{- with .Values.networkPolicy.egress }}
    - Egress
  egress:
    {{- toYaml . | nindent 4 }}
  {{- end }}
`;
  return onlyIf(".Values.networkPolicy.enabled", text);
}

/** The last lines of the PodMonitor. They belong to its only endpoint, which stands at the end of the object. */
const scrapeOptions = `      {{- with .Values.monitoring.podMonitor.interval }}
      interval: {{ . }}
      {{- end }}
      {{- with .Values.metricsAuth }}
      {{- if .enabled }}
      authorization:
        credentials:
          name: {{ required "metricsAuth.tokenSecret.name is required: the Secret with the token of Prometheus" .tokenSecret.name }}
          key: {{ .tokenSecret.key }}
      {{- end }}
      {{- end }}
`;

/** The rules as an expression of Helm, with the user's links to the runbooks. */
const linkedRules = [
  `regexReplaceAll ${JSON.stringify(runbookUrlPattern)} (.Files.Get "files/rules.yaml")`,
  `(replace "{name}" "\${1}" .Values.monitoring.runbookUrl)`,
].join(" ");

/** Rules and dashboard contain braces, so they are files of the chart that Helm does not read as templates. */
function monitoring(sources: DeploySources): string {
  const [podMonitor] = manifestsOf(sources, "deploy/monitoring/pod-monitor.yaml");
  if (podMonitor === undefined) throw new Error("pod-monitor.yaml holds a PodMonitor");
  const named = (suffix: string, labels: object) => ({
    name: fullname + suffix,
    namespace: releaseNamespace,
    labels: { ...allLabels, ...labels },
  });
  const more = (part: string) => ({ [mergedKey(`.Values.monitoring.${part}.labels`)]: "" });
  const monitor = { ...placed(podMonitor), metadata: named("", more("podMonitor")) };
  const rule = { apiVersion: "monitoring.coreos.com/v1", kind: "PrometheusRule", metadata: named("", more("rules")) };
  const dashboard = { apiVersion: "v1", kind: "ConfigMap", metadata: named("-dashboard", more("dashboard")) };
  const wanted = (part: string, needs = "") =>
    `and .Values.monitoring.enabled .Values.monitoring.${part}.enabled${needs}`;
  const ifServed = ' (include "endpoint-operator.hasPrometheusOperator" .)';
  return [
    onlyIf(wanted("podMonitor", ifServed), `${templateText(monitor)}${scrapeOptions}`),
    onlyIf(wanted("rules", ifServed), `${templateText(rule)}spec:\n{{ ${linkedRules} | indent 2 }}\n`),
    onlyIf(
      wanted("dashboard"),
      `${templateText(dashboard)}data:\n  compute-endpoints.json: |\n{{ .Files.Get "files/compute-endpoints.json" | trimSuffix "\\n" | indent 4 }}\n`,
    ),
  ].join("---\n");
}
