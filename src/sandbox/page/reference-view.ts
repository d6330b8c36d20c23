/** The page of the API reference. */
import type { OpenApiContent, OpenApiDocument, OpenApiOperation } from "../http/openapi/openapi-types.ts";
import { type Html, html } from "./html.ts";
import type { View } from "./layout-view.ts";

/**
 * Makes the page with every route, its parameters, body and answers.
 * @param document the OpenAPI document; `undefined`: only updates are needed
 */
export function referenceView(document: OpenApiDocument | undefined): View {
  return {
    title: "API reference · Sandbox",
    layout: "reference",
    regions: [],
    body: () => html`<main id="main" class="page reference" tabindex="-1">
<div class="title"><h2>API reference</h2><a href="/sandbox/v1/openapi.json">OpenAPI document</a></div>
<p class="about">${document?.info.description}</p>
${document === undefined ? undefined : sectionsOf(document)}
</main>`,
  };
}

interface Route {
  readonly path: string;
  readonly method: string;
  readonly operation: OpenApiOperation;
}

function sectionsOf({ paths }: OpenApiDocument): readonly Html[] {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Route => ({ path, method, operation })),
  );
  const byTag = Map.groupBy(routes, ({ operation }) => operation.tags[0] ?? "");
  return [...byTag].map(
    ([tag, ofTag]) =>
      html`<section aria-label="${tag}"><h2>${tag.replaceAll("_", " ")}</h2>${ofTag.map(routeView)}</section>`,
  );
}

function routeView({ path, method, operation }: Route): Html {
  const { summary, requestBody, responses } = operation;
  const body =
    requestBody === undefined
      ? undefined
      : html`<h3>Body${requestBody.required ? "" : " (optional)"}</h3>${schemaView(requestBody.content)}`;
  const answers = Object.entries(responses).map(
    ([status, { description, content }]) => html`<h3>${status}: ${description}</h3>${schemaView(content)}`,
  );
  return html`<details><summary><code><span class="method ${method}">${method.toUpperCase()}</span> ${path}</code> <span>${summary}</span></summary>
<div class="inside">${parametersView(operation)}${body}${answers}</div></details>`;
}

function parametersView({ parameters }: OpenApiOperation): Html | undefined {
  if (parameters.length === 0) return undefined;
  const rows = parameters.map(
    (
      parameter,
    ) => html`<tr><th scope="row"><code>${parameter.name}</code></th><td>${parameter.in}, ${parameter.required ? "required" : "optional"}</td>
<td><code>${JSON.stringify(parameter.schema)}</code></td></tr>`,
  );
  return html`<h3>Parameters</h3><table><tbody>${rows}</tbody></table>`;
}

function schemaView(content: OpenApiContent | undefined): Html {
  if (content === undefined) return html`<p class="none">No body.</p>`;
  return html`<pre tabindex="0"><code>${JSON.stringify(content["application/json"].schema, null, 2)}</code></pre>`;
}
