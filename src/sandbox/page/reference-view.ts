import type { OpenApiContent, OpenApiDocument, OpenApiOperation } from "./openapi-types.ts";

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2rem; text-transform: capitalize; }
details { border-top: 1px solid #8886; padding: .4rem 0; }
summary { cursor: pointer; }
code, pre { font: 14px/1.45 ui-monospace, monospace; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8886; }
th, td { text-align: left; padding: .15rem 1.5rem .15rem 0; }
`;

/** A page for people: every route of the document with its parameters, body and answers. No script. */
export function referencePage({ info, paths }: OpenApiDocument): string {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const tags = [...new Set(routes.flatMap(({ operation }) => operation.tags))];
  const sections = tags.map((tag) => {
    const ofTag = routes.filter(({ operation }) => operation.tags.includes(tag));
    const parts = ofTag.map(({ path, method, operation }) => routePart(`${method} ${path}`, operation));
    return `<section><h2>${escaped(tag.replaceAll("_", " "))}</h2>${parts.join("")}</section>`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(info.title)}: reference</title><style>${style}</style></head>
<body><h1>${escaped(info.title)}</h1><p>${escaped(info.description)} The same as <a href="openapi.json">an OpenAPI document</a>.</p>
<main>${sections.join("\n")}</main></body></html>
`;
}

function routePart(title: string, operation: OpenApiOperation): string {
  const { summary, parameters, requestBody, responses } = operation;
  const rows = parameters.map(
    (parameter) =>
      `<tr><td><code>${escaped(parameter.name)}</code></td><td>${parameter.in}</td><td>${
        parameter.required ? "required" : "optional"
      }</td><td><code>${escaped(JSON.stringify(parameter.schema))}</code></td></tr>`,
  );
  const answers = Object.entries(responses).map(
    ([status, { description, content }]) => `<h3>${escaped(`${status}: ${description}`)}</h3>${schemaPart(content)}`,
  );
  return [
    `<details><summary><code>${escaped(title)}</code> ${escaped(summary)}</summary>`,
    rows.length > 0 ? `<h3>Parameters</h3><table>${rows.join("")}</table>` : "",
    requestBody === undefined
      ? ""
      : `<h3>Body${requestBody.required ? "" : " (optional)"}</h3>${schemaPart(requestBody.content)}`,
    ...answers,
    "</details>",
  ].join("");
}

function schemaPart(content: OpenApiContent | undefined): string {
  if (content === undefined) return "<p>No body.</p>";
  return `<pre>${escaped(JSON.stringify(content["application/json"].schema, null, 2))}</pre>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
