/** Writes YAML with expressions of Helm in it. */
import { stringify } from "yaml";

/** The placeholder of a value until the YAML text is made. It is a plain word, so that YAML does not quote it. */
const token = (kind: string, text: string) => `${kind}x${Buffer.from(text).toString("hex")}x`;

/**
 * Returns a placeholder that Helm replaces by the value of this expression, for instance `{{ .Values.replicas }}`.
 * Pure.
 */
export function expression(text: string): string {
  return token("Expression", text);
}

/**
 * Returns a placeholder that Helm replaces by YAML from a path, for instance `.Values.resources`. The value must never
 * be empty. Pure.
 */
export function block(path: string): string {
  return token("Block", path);
}

/** Like `block`, but the key is left out if the value is empty. Pure. */
export function optionalBlock(path: string): string {
  return token("Optional", path);
}

/** Returns a key that Helm replaces by the entries of a map. Its own value is ignored. Pure. */
export function mergedKey(path: string): string {
  return token("Merge", path);
}

const textOf = (hex: string) => Buffer.from(hex, "hex").toString("utf8");

/** Returns a placeholder for a value that a named template of the chart makes. Pure. */
export function includedBlock(name: string): string {
  return token("Included", name);
}

/** Returns a key that Helm replaces by the entries that a named template makes. Its own value is ignored. Pure. */
export function includedEntries(name: string): string {
  return token("Entries", name);
}

/** Returns a list item that is replaced by this text of a template, at the depth of the list's items. Pure. */
export function items(text: string): string {
  return token("Items", text);
}

/**
 * Writes a document as the text of a Helm template. Pure.
 * @param document plain data with the placeholders above.
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
    .replaceAll(
      /^( *)([^\s:]+): Includedx([0-9a-f]+)x$/gm,
      (_, indent: string, key: string, hex: string) =>
        `${indent}${key}:\n${indent}  {{- include "${textOf(hex)}" $ | nindent ${indent.length + 2} }}`,
    )
    .replaceAll(
      /^( *)Entriesx([0-9a-f]+)x: .*$/gm,
      (_, indent: string, hex: string) => `${indent}{{- include "${textOf(hex)}" $ | nindent ${indent.length} }}`,
    )
    .replaceAll(/^( *)- Itemsx([0-9a-f]+)x$/gm, (_, indent: string, hex: string) =>
      textOf(hex).replaceAll("INDENT", String(indent.length)).trimEnd().replaceAll(/^/gm, indent),
    )
    .replaceAll(/Expressionx([0-9a-f]+)x/g, (_, hex: string) => textOf(hex));
}

function conditional(path: string, lines: readonly string[]): string {
  return [`{{- with ${path} }}`, ...lines, "{{- end }}"].join("\n");
}

/** Returns text that Helm copies: braces in it are not expressions. Pure. */
export function verbatim(text: string): string {
  return text.replaceAll(/\{\{|\}\}/g, (braces) => `{{ "${braces}" }}`);
}
