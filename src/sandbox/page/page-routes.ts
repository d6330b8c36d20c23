/** Routes of the pages, their files and their updates. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { hostnameOf, isForeignPage, isLoopback } from "../http/control/control-routes.ts";
import type { OpenApiDocument } from "../http/openapi/openapi-types.ts";
import { ApiError } from "../http/parts/errors.ts";
import type { ServerParts } from "../http/parts/server-parts.ts";
import { documentView, filePaths } from "./layout-view.ts";
import { LivePages, originOf } from "./live-page.ts";
import { pageActions } from "./page-actions.ts";
import { type PageName, pagePaths, parsePageQuery } from "./page-query.ts";
import { pageScript } from "./page-script.ts";
import { pageIcon, pageStyle } from "./page-style.ts";
import { observePage } from "./views.ts";

/** The content security policy: the page loads only its own files, and runs no other script. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

/** Adds the pages at `/`. They need no key, so only a client that may use the control API can read them. */
export function pageRoutes(app: FastifyInstance, parts: ServerParts): void {
  app.addHook("onRequest", async (request, reply) => {
    requireLocal(request, parts.controlAccess);
    reply.headers({
      "content-security-policy": contentSecurityPolicy,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
  });
  for (const [page, path] of Object.entries(pagePaths)) {
    app.get(path, async (request, reply) => {
      const query = parsePageQuery(page as PageName, queryOf(request));
      const document = query.page === "reference" ? await documentOf(app) : undefined;
      const { view, frame, isFound } = observePage(parts, query, { origin: originOf(request), document });
      reply.code(isFound ? 200 : 404).type("text/html; charset=utf-8");
      return reply.send(documentView(view, frame, query));
    });
  }
  const live = new LivePages(parts);
  app.addHook("preClose", async () => live.close());
  app.get(filePaths.events, (request, reply) => {
    const query = new URLSearchParams(queryOf(request));
    const version = query.get("version") ?? undefined;
    live.open({ request, reply, version, query: parsePageQuery(pageNamed(query.get("page")), query.toString()) });
  });
  pageActions(app, parts);
  const files = {
    [filePaths.style]: ["text/css; charset=utf-8", pageStyle],
    [filePaths.script]: ["text/javascript; charset=utf-8", pageScript],
    [filePaths.icon]: ["image/svg+xml", pageIcon],
  } as const;
  for (const [path, [type, text]] of Object.entries(files)) {
    app.get(path, async (_request, reply) => reply.type(type).send(text));
  }
}

/** Returns the sandbox's own OpenAPI document. */
async function documentOf(app: FastifyInstance): Promise<OpenApiDocument> {
  const answer = await app.inject({ url: "/sandbox/v1/openapi.json", headers: { host: "localhost" } });
  return answer.json();
}

function queryOf({ url }: FastifyRequest): string {
  const at = url.indexOf("?");
  return at === -1 ? "" : url.slice(at + 1);
}

function pageNamed(name: string | null): PageName {
  return name !== null && Object.hasOwn(pagePaths, name) ? (name as PageName) : "projects";
}

function requireLocal(request: FastifyRequest, access: ServerParts["controlAccess"]): void {
  if (access === "everyone") return;
  if (access === "none") throw new ApiError(403, "the page is off: the sandbox is not bound to a loopback address");
  // A web page of another host could reach the sandbox under the page's own host name, if DNS resolves that name to a
  // loopback address.
  if (!isLoopback(hostnameOf(request.headers.host))) {
    throw new ApiError(403, "the page answers to a loopback host name only");
  }
  if (isForeignPage(request.headers.origin)) {
    throw new ApiError(403, "the page does not answer to a page of another host");
  }
}
