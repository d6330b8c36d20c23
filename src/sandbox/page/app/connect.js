/** The page with commands that connect a client to this sandbox. */
import { attempt, makeKey } from "./calls.js";
import { html } from "./library.js";
import { page, redraw } from "./page.js";
import { Snippet } from "./parts.js";

export const Connect = ({ state: { projectId = "PROJECT", entrances } }) => {
  const key = page.key ?? "$KEY";
  const url = `${location.origin}/api/v2`;
  const cli = `--api-host ${url} \\\n  --api-key ${key} --no-analytics`;
  return html`<main id="main" class="page" tabindex="-1">
    <div class="title"><h2>Connect your client</h2></div>
    <section class="card key"><div><p><b>API key</b> The commands below use the shell variable <code>$KEY</code>, or the key that you make here.</p>
      <p class="about">The sandbox keeps only a hash of each key. Use the key of <code>--api-key</code>, or make one for this page.</p></div>
      <button type="button" class="primary" onClick=${newKey}>Make a key</button></section>
    <div class="snippets">
      <${Snippet} title="Environment" text=${`export CONTROL_PLANE_URL=${url}\nexport CONTROL_PLANE_API_KEY=${key}`} />
      <${Snippet} title="curl" text=${`curl -H "Authorization: Bearer ${key}" \\\n  ${url}/projects`} />
      <${Snippet} title="curl: create a project" text=${`curl -H "Authorization: Bearer ${key}" \\\n  -H "Content-Type: application/json" \\\n  -d '{"project": {"name": "shop"}}' \\\n  ${url}/projects`} />
      <${Snippet} title="neonctl" text=${`npx neonctl operations list --project-id ${projectId} \\\n  ${cli}`} />
      <${Snippet} title="@neondatabase/api-client" text=${`import { createApiClient } from "@neondatabase/api-client";\n\nconst client = createApiClient({\n  apiKey: "${key}",\n  baseURL: "${url}",\n});`} />
      <${Snippet} title="psql" text=${`psql "$(npx neonctl connection-string --project-id ${projectId} \\\n  ${cli})"`} />
      <${ProxySnippet} ...${entrances} />
    </div>
    <p class="about">More: <a href="/reference">every call of the API</a>, its <a href="/sandbox/v1/openapi.json">OpenAPI document</a>,
      the <a href="/sandbox/v1/ca.crt">certificate of the sandbox's authority</a>.</p></main>`;
};

async function newKey() {
  page.key = await attempt(makeKey, "The commands below hold the new key.");
  redraw();
}

const ProxySnippet = ({ proxyUrl, proxyHostName }) => {
  const title = "A client with a fixed https address, such as a Terraform provider";
  if (proxyUrl === undefined) {
    return html`<${Snippet} title=${`${title}: start the sandbox with a proxy`} text="endpoint-operator sandbox --proxy-port 8788" />`;
  }
  const trust = "export SSL_CERT_FILE=$PWD/ca.crt NODE_EXTRA_CA_CERTS=$PWD/ca.crt";
  const text = `curl -so ca.crt ${location.origin}/sandbox/v1/ca.crt\nexport HTTPS_PROXY=${proxyUrl}\n${trust}`;
  return html`<${Snippet} title=${`${title} (https://${proxyHostName})`} text=${text} />`;
};
