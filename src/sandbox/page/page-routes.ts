/** Routes of the page: its HTML, its files, and the JSON that it shows. */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { requireLocal } from "../http/control/control-routes.ts";
import { ApiError } from "../http/parts/errors.ts";
import type { ServerParts } from "../http/parts/server-parts.ts";
import { readPageFiles } from "./page-files.ts";
import { pageAnswer } from "./page-state.ts";

/** The content security policy: the page loads only its own files, and runs no other script. */
const contentSecurityPolicy = ["style-src", "script-src", "img-src", "connect-src", "form-action"]
  .map((name) => `${name} 'self'`)
  .concat("default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'")
  .join("; ");

const shell = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sandbox</title>
<link rel="icon" href="/page/icon.svg">
<link rel="stylesheet" href="/page/style.css">
<script type="module" src="/page/main.js"></script>
</head>
<body><div id="app"></div><noscript><p class="banner">This page needs scripts.</p></noscript></body>
</html>
`;

const text = z.string().max(256);
const pageQuery = z.object({
  page: text.default("projects"),
  project: text.optional(),
  before: text.default(""),
  search: text.default("").transform((given) => given.trim().toLowerCase()),
  version: text.optional(),
});

/** Adds the pages at `/`. They need no key, so only a client that may use the control API can read them. */
export function pageRoutes(app: FastifyInstance, parts: ServerParts): void {
  app.addHook("onRequest", async (request, reply) => {
    requireLocal(parts, request);
    reply.headers({
      "content-security-policy": contentSecurityPolicy,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
  });
  for (const path of ["/", "/requests", "/faults", "/connect", "/reference"]) {
    app.get(path, async (_request, reply) => reply.type("text/html; charset=utf-8").send(shell));
  }
  for (const [path, file] of Object.entries(readPageFiles())) {
    app.get(path, async (_request, reply) => reply.type(file.type).send(file.text));
  }
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get("/page/state", { schema: { querystring: pageQuery } }, async ({ query }) => {
    const { page, before, search, project, version } = query;
    return pageAnswer(parts, { page, before, search, project: project === "" ? undefined : project, version });
  });
  routes.get("/page/log", { schema: { querystring: z.object({ endpoint: text }) } }, async ({ query }, reply) => {
    if (parts.computes === undefined) throw new ApiError(404, "the sandbox runs no computes");
    return reply.type("text/plain; charset=utf-8").send(await parts.computes.log(query.endpoint));
  });
}
