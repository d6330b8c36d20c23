/** The page of the API reference, made from the OpenAPI document. */
import { send } from "./calls.js";
import { html } from "./library.js";
import { redraw } from "./page.js";

let openApi;

async function load() {
  openApi = { info: {}, paths: {} };
  openApi = await send("GET /sandbox/v1/openapi.json").catch(() => undefined);
  redraw();
}

export const Reference = () => {
  if (openApi === undefined) void load();
  const { info = {}, paths = {} } = openApi ?? {};
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );
  const byTag = Map.groupBy(routes, ({ tags: [tag = ""] }) => tag);
  return html`<main id="main" class="page reference" tabindex="-1">
    <div class="title"><h2>API reference</h2><a href="/sandbox/v1/openapi.json">OpenAPI document</a></div>
    <p class="about">${info.description}</p>
    ${[...byTag].map(([tag, ofTag]) => html`<section key=${tag} aria-label=${tag}><h2>${tag.replaceAll("_", " ")}</h2>${ofTag.map((route) => html`<${Route} ...${route} />`)}</section>`)}
  </main>`;
};

const Route = ({ path, method, summary, parameters, requestBody, responses }) => html`<details>
  <summary><code><span class=${`method ${method}`}>${method.toUpperCase()}</span> ${path}</code> <span>${summary}</span></summary>
  <div class="inside">
    ${
      parameters.length > 0 &&
      html`<h3>Parameters</h3><table><tbody>${parameters.map(
        ({ name, in: place, required, schema }) => html`<tr key=${name}><th scope="row"><code>${name}</code></th>
        <td>${place}, ${required ? "required" : "optional"}</td><td><code>${JSON.stringify(schema)}</code></td></tr>`,
      )}</tbody></table>`
    }
    ${requestBody && html`<h3>Body${!requestBody.required && " (optional)"}</h3><${Schema} content=${requestBody.content} />`}
    ${Object.entries(responses).map(([status, { description, content }]) => html`<h3>${status}: ${description}</h3><${Schema} content=${content} />`)}
  </div></details>`;

const Schema = ({ content }) =>
  content === undefined
    ? html`<p class="none">No body.</p>`
    : html`<pre tabindex="0"><code>${JSON.stringify(content["application/json"].schema, null, 2)}</code></pre>`;
