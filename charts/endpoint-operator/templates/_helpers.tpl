{{- define "endpoint-operator.name" -}}
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

{{- define "endpoint-operator.affinity" -}}
{{- if .Values.affinity }}
{{- toYaml .Values.affinity }}
{{- else -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "endpoint-operator.selectorLabels" $ | nindent 12 }}
{{- end }}
{{- end }}
