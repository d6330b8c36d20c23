/** The page with commands that connect a client to this sandbox. */
import type { Entrances } from "../http/parts/server-parts.ts";
import { type Html, html } from "./html.ts";
import type { View } from "./layout-view.ts";
import { snippetView } from "./parts-view.ts";

/** The values in the commands of this page. */
export interface ConnectData {
  /** The address of the sandbox in the browser, such as `http://127.0.0.1:8787`. */
  readonly origin: string;
  readonly entrances: Entrances;
  /** The id of a project for the commands; `undefined`: there is none. */
  readonly projectId: string | undefined;
}

/** Makes the page with the commands. */
export function connectView({ origin, entrances, projectId = "PROJECT" }: ConnectData): View {
  const url = `${origin}/api/v2`;
  return {
    title: "Connect · Sandbox",
    layout: "connect",
    regions: [],
    body: () => html`<main id="main" class="page" tabindex="-1">
<div class="title"><h2>Connect your client</h2></div>
<section class="card key"><div><p><b>API key</b> The commands below use the shell variable <code>$KEY</code>, or the key that you make here.</p>
<p class="about">The sandbox keeps only a hash of each key. Use the key of <code>--api-key</code>, or make one for this page.</p></div>
<form data-call="POST /sandbox/v1/keys" data-key-maker data-done="The commands below hold the new key."><input type="hidden" name="name" value="page">
<button class="primary">Make a key</button></form></section>
<div class="snippets">
${snippetView("Environment", `export CONTROL_PLANE_URL=${url}\nexport CONTROL_PLANE_API_KEY=$KEY`)}
${snippetView("curl", `curl -H "Authorization: Bearer $KEY" \\\n  ${url}/projects`)}
${snippetView("curl: create a project", `curl -H "Authorization: Bearer $KEY" \\\n  -H "Content-Type: application/json" \\\n  -d '{"project": {"name": "shop"}}' \\\n  ${url}/projects`)}
${snippetView("neonctl", `npx neonctl operations list --project-id ${projectId} \\\n  --api-host ${url} \\\n  --api-key $KEY --no-analytics`)}
${snippetView("@neondatabase/api-client", `import { createApiClient } from "@neondatabase/api-client";\n\nconst client = createApiClient({\n  apiKey: "$KEY",\n  baseURL: "${url}",\n});`)}
${snippetView("psql", `psql "$(npx neonctl connection-string --project-id ${projectId} \\\n  --api-host ${url} \\\n  --api-key $KEY --no-analytics)"`)}
${proxySnippets(origin, entrances)}
</div>
<p class="about">More: <a href="/reference">every call of the API</a>, its <a href="/sandbox/v1/openapi.json">OpenAPI document</a>,
the <a href="/sandbox/v1/ca.crt">certificate of the sandbox's authority</a>.</p>
</main>`,
  };
}

function proxySnippets(origin: string, { proxyUrl, proxyHostName }: Entrances): Html {
  const title = "A client with a fixed https address, such as a Terraform provider";
  if (proxyUrl === undefined) {
    return snippetView(`${title}: start the sandbox with a proxy`, "endpoint-operator sandbox --proxy-port 8788");
  }
  return snippetView(
    `${title} (https://${proxyHostName})`,
    `curl -so ca.crt ${origin}/sandbox/v1/ca.crt\nexport HTTPS_PROXY=${proxyUrl}\nexport SSL_CERT_FILE=$PWD/ca.crt NODE_EXTRA_CA_CERTS=$PWD/ca.crt`,
  );
}
