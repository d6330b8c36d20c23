import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hostnameOf, isLoopback } from "../http/control/control-routes.ts";
import { ApiError } from "../http/parts/errors.ts";
import { parseCursor } from "../http/parts/lists.ts";
import type { ServerParts } from "../http/parts/server-parts.ts";
import { observePage, type PageData } from "./page-data.ts";
import { pageScript } from "./page-script.ts";
import { pageIcon, pageStyle } from "./page-style.ts";
import { contentView, type PageContext, pagePaths, pageView } from "./page-view.ts";

/** The page asks for nothing but its own files, and nothing in it is run that is not one of them. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The page at `/`. It needs no key, so it is there for whoever may use the control API. */
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
  const show = (view: (data: PageData, context: PageContext) => string) => {
    return async (request: FastifyRequest, reply: FastifyReply) => {
      const query = new URLSearchParams(request.url.split("?")[1]);
      const projectId = query.get("project") ?? undefined;
      const before = parseCursor(query.get("before") ?? "");
      const data = observePage(parts, { projectId, before });
      const isMissing = projectId !== undefined && data.details === undefined;
      reply.code(isMissing ? 404 : 200).type("text/html; charset=utf-8");
      return reply.send(view(data, { projectId, isOlder: before !== undefined }));
    };
  };
  app.get(pagePaths.page, show(pageView));
  app.get(
    pagePaths.content,
    show((data, context) => contentView(data, context).markup),
  );
  const files = {
    [pagePaths.style]: ["text/css; charset=utf-8", pageStyle],
    [pagePaths.script]: ["text/javascript; charset=utf-8", pageScript],
    [pagePaths.icon]: ["image/svg+xml", pageIcon],
  } as const;
  for (const [path, [type, text]] of Object.entries(files)) {
    app.get(path, async (_request, reply) => reply.type(type).send(text));
  }
}

function requireLocal(request: FastifyRequest, access: ServerParts["controlAccess"]): void {
  if (access === "anybody") return;
  if (access === "nobody") throw new ApiError(403, "the page is off: the sandbox is not bound to a loopback address");
  // A page of somebody else could reach us under a name of its own that resolves to loopback.
  if (!isLoopback(hostnameOf(request.headers.host))) {
    throw new ApiError(403, "the page answers to a loopback host name only");
  }
}
