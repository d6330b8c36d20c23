/** Makes the README of the operator's chart. */
const head = `# The Helm chart and its values

First create the Secret with the API key of the control plane, then install:

\`\`\`
kubectl create namespace endpoint-operator-system
kubectl -n endpoint-operator-system create secret generic control-plane-api-key --from-file=api-key=FILE
helm install endpoint-operator charts/endpoint-operator --namespace endpoint-operator-system \\
  --set image.repository=registry.example.com/endpoint-operator --set controlPlane.url=https://control-plane.example.com/api/v2
\`\`\`

[Upgrades and removal](../../docs/upgrades.md) has the other commands. The CRDs come with the chart and stay when it goes.

## Two releases in one cluster

Give each release a name and namespaces of its own. The second one leaves out what the cluster has once:

\`\`\`
helm install team-b charts/endpoint-operator --namespace team-b-operator --create-namespace \\
  --set crds.enabled=false --set secretsRole.create=false --set 'watchNamespaces={team-b}' \\
  --set image.repository=registry.example.com/endpoint-operator --set controlPlane.url=https://control-plane.example.com/api/v2
\`\`\`

The first release then also needs \`watchNamespaces\`, because two operators must not manage one resource.

## Values

| value | default | meaning |
|---|---|---|
`;

/** Returns the README: how to install, and a row for each value. Pure. @param schema says what each value means */
export function chartReadme(
  values: Readonly<Record<string, unknown>>,
  schema: Readonly<Record<string, { readonly description?: string }>>,
): string {
  const rows = Object.entries(values).flatMap(([name, value]) => rowsOf(name, value, schema[name]?.description));
  return `${head}${rows.join("\n")}\n\nThis page is made by \`npm run generate\` from values.yaml and its schema.\n`;
}

/** A map of values of the chart's own gets a row for each value. What Kubernetes defines is one value. */
const wholeMaps =
  /^(settings|resources|podSecurityContext|securityContext|livenessProbe|readinessProbe|strategy|.*[lL]abels)$/;

function rowsOf(name: string, value: unknown, comment = ""): readonly string[] {
  const isMap = typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
  if (!isMap || wholeMaps.test(name)) return [`| \`${name}\` | ${shown(name, value)} | ${comment} |`];
  const inner = Object.entries(value).flatMap(([key, part]) => rowsOf(`${name}.${key}`, part));
  return comment === "" ? inner : [`| **${name}** | | ${comment} |`, ...inner];
}

function shown(name: string, value: unknown): string {
  return wholeMaps.test(name) && !name.endsWith("abels") ? "see values.yaml" : `\`${JSON.stringify(value)}\``;
}
