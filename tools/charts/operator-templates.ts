/** Makes the templates of the operator's Helm chart. */
import { stringify } from "yaml";
import { runbookPathPattern } from "../monitoring/rule-files.ts";
import { type DeploySources, type Manifest, manifestsOf } from "./deploy-sources.ts";
import { block, expression, mergedKey, optionalBlock, templateText, verbatim } from "./template-text.ts";

const nameLabel = { "app.kubernetes.io/name": "endpoint-operator" };
const secretName = expression("{{ .Values.controlPlane.apiKeySecret.name }}");
const secretKey = expression("{{ .Values.controlPlane.apiKeySecret.key }}");
const releaseNamespace = expression("{{ $.Release.Namespace }}");

/** Kinds without a namespace. */
const clusterKinds: ReadonlySet<string> = new Set(["ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"]);

/** Returns the templates by file name. Each is made from an object of `deploy/`. Pure. */
export function operatorTemplates(sources: DeploySources): ReadonlyMap<string, string> {
  const base = (name: string) => manifestsOf(sources, `deploy/base/${name}.yaml`);
  const unchanged = ["service-account", "lease-role", "people-roles", "secrets-role", "disruption-budget"];
  return new Map([
    ...unchanged.map((name) => [`${name}.yaml`, documents(base(name).map(placed))] as const),
    ["cluster-role.yaml", clusterRole(base("cluster-role"))],
    ["key-role.yaml", documents(base("key-role").map(placed).map(withSecretName))],
    ["metrics-auth.yaml", metricsAuth(manifestsOf(sources, "deploy/metrics-auth/metrics-auth.yaml"))],
    ["settings.yaml", settings(sources)],
    ["deployment.yaml", documents(base("deployment").map(deployment))],
    ["network-policy.yaml", networkPolicy(base("network-policy"))],
    ["watched-namespaces.yaml", watchedNamespaces(sources)],
    ["monitoring.yaml", monitoring(sources)],
    ["crd.yaml", onlyIf(".Values.crds.enabled", crdTemplate(sources))],
  ]);
}

/** Returns the CRDs as a template: `helm upgrade` replaces them, `helm uninstall` keeps them. Pure. */
export function crdTemplate({ crd }: DeploySources): string {
  const body = verbatim(crd.replace(/^#.*\n/gm, ""));
  return body.replace(/^metadata:\n/gm, `metadata:\n  labels:\n    ${Object.entries(nameLabel)[0]?.join(": ")}\n`);
}

/**
 * Sets the release's namespace and the common label, as kustomize does. References to the service account get the
 * namespace too.
 */
function placed(manifest: Manifest): Manifest {
  const { name, labels, namespace: _, ...metadata } = manifest.metadata;
  const subjects = manifest.subjects as readonly Record<string, unknown>[] | undefined;
  return {
    ...manifest,
    metadata: {
      name,
      ...(clusterKinds.has(manifest.kind) ? {} : { namespace: releaseNamespace }),
      labels: { ...(labels as object | undefined), ...nameLabel },
      ...metadata,
    },
    ...(subjects && { subjects: subjects.map((subject) => ({ ...subject, namespace: releaseNamespace })) }),
  };
}

/** Puts the Secret's name from the values into the Role. */
function withSecretName({ rules, ...manifest }: Manifest): object {
  const named = (rules as readonly object[] | undefined)?.map((rule) => ({ ...rule, resourceNames: [secretName] }));
  return { ...manifest, ...(named && { rules: named }) };
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
  const everywhere = stringify(all.filter((rule) => !isClusterWide(rule)));
  const always = stringify(all.filter(isClusterWide));
  return `${templateText(rest)}rules:\n${onlyIf("not .Values.watchNamespaces", everywhere)}${always}---\n${documents([placed(binding)])}`;
}

function watchedNamespaces(sources: DeploySources): string {
  const inEach = manifestsOf(sources, "deploy/namespaced/watched-namespace.yaml").map((manifest) => {
    const { labels: _, ...metadata } = placed(manifest).metadata;
    return { ...placed(manifest), metadata: { ...metadata, namespace: expression("{{ . }}") } };
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
    metadata: { name: "endpoint-operator-settings", namespace: releaseNamespace, labels: nameLabel },
  });
  const [urlName] = [...sources.settings.keys()].filter((name) => name === "CONTROL_PLANE_URL");
  return `${head}data:
  ${urlName}: {{ required "controlPlane.url is required, for instance https://control-plane.example.com/api/v2" .Values.controlPlane.url | quote }}
  CONTROL_PLANE_API_KEY_SECRET: {{ printf "%s/%s" .Values.controlPlane.apiKeySecret.name .Values.controlPlane.apiKeySecret.key | quote }}
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

const imageReference =
  "{{ .Values.image.repository }}{{ with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}";

// biome-ignore lint/suspicious/noExplicitAny: a Deployment, rewritten by path
function deployment(manifest: any): unknown {
  const spec = structuredClone(manifest.spec);
  const { template } = spec;
  const [container] = template.spec.containers;
  spec.replicas = expression("{{ .Values.replicas }}");
  template.metadata.labels[mergedKey(".Values.podLabels")] = "";
  template.metadata.annotations["checksum/settings"] = expression(
    '{{ include (print $.Template.BasePath "/settings.yaml") . | sha256sum }}',
  );
  template.metadata.annotations[mergedKey(".Values.podAnnotations")] = "";
  container.image = expression(imageReference);
  container.imagePullPolicy = expression("{{ .Values.image.pullPolicy }}");
  container.resources = block(".Values.resources");
  const [keyFile] = container.env;
  keyFile.value = `${keyFile.value.slice(0, keyFile.value.lastIndexOf("/"))}/${secretKey}`;
  template.spec.volumes[0].secret.secretName = secretName;
  template.spec.affinity = optionalBlock(".Values.affinity");
  for (const field of [
    "nodeSelector",
    "tolerations",
    "topologySpreadConstraints",
    "priorityClassName",
    "imagePullSecrets",
  ])
    template.spec[field] = optionalBlock(`.Values.${field}`);
  return placed({ ...manifest, spec });
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
const scrapeToken = `      {{- with .Values.metricsAuth }}
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
  `regexReplaceAll ${JSON.stringify(runbookPathPattern)} (.Files.Get "files/rules.yaml")`,
  `(replace "{name}" "\${1}" .Values.monitoring.runbookUrl)`,
].join(" ");

/** Rules and dashboard contain braces, so they are files of the chart that Helm does not read as templates. */
function monitoring(sources: DeploySources): string {
  const [podMonitor] = manifestsOf(sources, "deploy/monitoring/pod-monitor.yaml");
  const metadata = { name: "endpoint-operator", namespace: releaseNamespace, labels: nameLabel };
  const rule = { apiVersion: "monitoring.coreos.com/v1", kind: "PrometheusRule", metadata };
  const dashboard = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "endpoint-operator-dashboard", namespace: releaseNamespace, labels: { grafana_dashboard: "1" } },
  };
  const text = [
    `${documents([podMonitor && placed(podMonitor)])}${scrapeToken}`,
    `${templateText(rule)}spec:\n{{ ${linkedRules} | indent 2 }}\n`,
    `${templateText(dashboard)}data:\n  compute-endpoints.json: |\n{{ .Files.Get "files/compute-endpoints.json" | trimSuffix "\\n" | indent 4 }}\n`,
  ].join("---\n");
  return onlyIf(".Values.monitoring.enabled", text);
}
