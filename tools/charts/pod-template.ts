/** Makes the Deployment of the operator's chart from that of `deploy/base`. */
import type { Manifest } from "./deploy-sources.ts";
import { accountName, fullname, podLabels } from "./helpers-text.ts";
import { block, expression, includedBlock, items, mergedKey, optionalBlock } from "./template-text.ts";

const secretName = expression("{{ .Values.controlPlane.apiKeySecret.name }}");
const secretKey = expression("{{ .Values.controlPlane.apiKeySecret.key }}");

const image = expression(
  '{{ required "image.repository is required, for instance registry.example.com/endpoint-operator" .Values.image.repository }}' +
    "{{ with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}",
);

const moreEnv = items(`{{- with .Values.database.caConfigMap.name }}
- name: DATABASE_CA_FILE
  value: /etc/endpoint-operator/database/{{ $.Values.database.caConfigMap.key }}
{{- end }}
{{- with .Values.tracing.headersSecret.name }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: {{ $.Values.tracing.headersSecret.key }}
{{- end }}
{{- with .Values.extraEnv }}
{{- toYaml . | nindent INDENT }}
{{- end }}`);

const moreMounts = items(`{{- if .Values.database.caConfigMap.name }}
- name: database-authority
  mountPath: /etc/endpoint-operator/database
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{- toYaml . | nindent INDENT }}
{{- end }}`);

const moreVolumes = items(`{{- with .Values.database.caConfigMap.name }}
- name: database-authority
  configMap:
    name: {{ . }}
{{- end }}
{{- with .Values.extraVolumes }}
{{- toYaml . | nindent INDENT }}
{{- end }}`);

/** Fields of the pod that are left out if their value is empty. */
const optionalFields = [
  "nodeSelector",
  "tolerations",
  "topologySpreadConstraints",
  "priorityClassName",
  "imagePullSecrets",
];

// biome-ignore lint/suspicious/noExplicitAny: a Deployment, rewritten by path
export function deploymentOf(manifest: any): Manifest {
  const spec = structuredClone(manifest.spec);
  spec.replicas = expression("{{ .Values.replicas }}");
  spec.strategy = block(".Values.strategy");
  const { metadata, spec: pod } = spec.template;
  metadata.labels = { ...podLabels, [mergedKey(".Values.commonLabels")]: "", [mergedKey(".Values.podLabels")]: "" };
  metadata.annotations["checksum/settings"] = expression(
    '{{ include (print $.Template.BasePath "/settings.yaml") . | sha256sum }}',
  );
  metadata.annotations[mergedKey(".Values.podAnnotations")] = "";
  pod.serviceAccountName = accountName;
  pod.affinity = includedBlock("endpoint-operator.affinity");
  pod.securityContext = includedBlock("endpoint-operator.podSecurityContext");
  pod.volumes[0].secret.secretName = secretName;
  pod.volumes.push(moreVolumes);
  for (const field of optionalFields) pod[field] = optionalBlock(`.Values.${field}`);
  changeContainer(pod.containers[0]);
  return { ...manifest, spec };
}

// biome-ignore lint/suspicious/noExplicitAny: a container, rewritten by path
function changeContainer(container: any): void {
  container.image = image;
  container.imagePullPolicy = expression("{{ .Values.image.pullPolicy }}");
  container.envFrom[0].configMapRef.name = `${fullname}-settings`;
  const [keyFile] = container.env;
  keyFile.value = `${keyFile.value.slice(0, keyFile.value.lastIndexOf("/"))}/${secretKey}`;
  container.env.push(moreEnv);
  for (const field of ["livenessProbe", "readinessProbe", "resources", "securityContext"])
    container[field] = block(`.Values.${field}`);
  container.volumeMounts.push(moreMounts);
}
