import { stringify } from "yaml";

/** What stands in a document in place of a value until its YAML text is made. A plain word, so that YAML does not quote it. */
const token = (kind: string, text: string) => `${kind}x${Buffer.from(text).toString("hex")}x`;

/** A value that Helm renders from this expression, for instance `{{ .Values.replicas }}`. Pure. */
export function expression(text: string): string {
  return token("Expression", text);
}

/** A value that Helm renders as YAML from a path, for instance `.Values.resources`; it must never be empty. Pure. */
export function block(path: string): string {
  return token("Block", path);
}

/** Like `block`, and the key stands in the result only if the value is not empty. Pure. */
export function optionalBlock(path: string): string {
  return token("Optional", path);
}

/** A key that Helm replaces by the entries of a map; its own value is ignored. Pure. */
export function mergedKey(path: string): string {
  return token("Merge", path);
}

const textOf = (hex: string) => Buffer.from(hex, "hex").toString("utf8");

/**
 * Writes a document as the text of a Helm template. Pure.
 *
 * @param document plain data; holes in it are made by the functions above.
 */
export function templateText(document: unknown): string {
  return stringify(document, { lineWidth: 0 })
    .replaceAll(/^( *)Mergex([0-9a-f]+)x: .*$/gm, (_, indent: string, hex: string) =>
      conditional(textOf(hex), [`${indent}{{- toYaml . | nindent ${indent.length} }}`]),
    )
    .replaceAll(/^( *)([^\s:]+): Optionalx([0-9a-f]+)x$/gm, (_, indent: string, key: string, hex: string) =>
      conditional(textOf(hex), [`${indent}${key}:`, `${indent}  {{- toYaml . | nindent ${indent.length + 2} }}`]),
    )
    .replaceAll(
      /^( *)((?:- )?)([^\s:]+): Blockx([0-9a-f]+)x$/gm,
      (_, indent: string, dash: string, key: string, hex: string) =>
        `${indent}${dash}${key}:\n${indent}  {{- toYaml ${textOf(hex)} | nindent ${indent.length + dash.length + 2} }}`,
    )
    .replaceAll(/Expressionx([0-9a-f]+)x/g, (_, hex: string) => textOf(hex));
}

function conditional(path: string, lines: readonly string[]): string {
  return [`{{- with ${path} }}`, ...lines, "{{- end }}"].join("\n");
}

/** Text that Helm writes as it stands: braces in it are not expressions. Pure. */
export function verbatim(text: string): string {
  return text.replaceAll(/\{\{|\}\}/g, (braces) => `{{ "${braces}" }}`);
}
