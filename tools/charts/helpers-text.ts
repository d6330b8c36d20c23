/** The named templates of the operator's chart: names, labels, and parts of the pod with a default of their own. */
import { stringify } from "yaml";
import type { DeploySources } from "./deploy-sources.ts";
import { manifestsOf } from "./deploy-sources.ts";
import { expression, includedEntries, templateText } from "./template-text.ts";

/** The names of objects of this release begin with it. */
export const fullname: string = expression('{{ include "endpoint-operator.fullname" $ }}');
export const accountName: string = expression('{{ include "endpoint-operator.serviceAccountName" $ }}');

/** The labels of every object, as an entry of a map. */
export const allLabels: Readonly<Record<string, string>> = { [includedEntries("endpoint-operator.labels")]: "" };
/** The labels by which objects find the pods of this release, as an entry of a map. */
export const podLabels: Readonly<Record<string, string>> = {
  [includedEntries("endpoint-operator.selectorLabels")]: "",
};

const names = `{{- define "endpoint-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "endpoint-operator.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 45 | trimSuffix "-" }}
{{- else }}
{{- $name := include "endpoint-operator.name" . }}
{{- contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) | trunc 45 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "endpoint-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "endpoint-operator.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name is required if serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "endpoint-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "endpoint-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "endpoint-operator.labels" -}}
{{ include "endpoint-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "endpoint-operator.isOpenShift" -}}
{{- if .Values.platform }}{{ eq .Values.platform "OpenShift" | ternary "true" "" }}
{{- else }}{{ .Capabilities.APIVersions.Has "security.openshift.io/v1" | ternary "true" "" }}{{ end }}
{{- end }}

{{- define "endpoint-operator.podSecurityContext" -}}
{{- if include "endpoint-operator.isOpenShift" . }}
{{- toYaml (omit .Values.podSecurityContext "runAsUser" "runAsGroup" "fsGroup") }}
{{- else }}
{{- toYaml .Values.podSecurityContext }}
{{- end }}
{{- end }}

{{- define "endpoint-operator.hasPrometheusOperator" -}}
{{- if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1" }}true{{ end }}
{{- end }}
`;

/** Returns the text of `_helpers.tpl`. Pure. */
export function helpersText(sources: DeploySources): string {
  const [deployment] = manifestsOf(sources, "deploy/base/deployment.yaml");
  if (deployment === undefined) throw new Error("deployment.yaml holds a Deployment");
  const { template } = deployment.spec as { readonly template: { readonly spec: { readonly affinity: unknown } } };
  const spread = templateText(
    JSON.parse(JSON.stringify(template.spec.affinity), (key, value) => (key === "matchLabels" ? podLabels : value)),
  );
  return `${names}
{{- define "endpoint-operator.affinity" -}}
{{- if .Values.affinity }}
{{- toYaml .Values.affinity }}
{{- else -}}
${spread.trimEnd()}
{{- end }}
{{- end }}
`;
}

/** Returns YAML without folded lines. Pure. */
export function yamlOf(value: unknown): string {
  return stringify(value, { lineWidth: 0 });
}
