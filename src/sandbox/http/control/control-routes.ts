/** The control API `/sandbox/v1` for tests, and the check that its client is on this machine. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError, answerErrors } from "../parts/errors.ts";
import type { ServerParts } from "../parts/server-parts.ts";
import type { KnownRoutes } from "../specification/routes.ts";
import { clockRoutes } from "./clock-routes.ts";
import { computeRoutes } from "./compute-routes.ts";
import { ControlApi } from "./control-api.ts";
import { faultRoutes } from "./fault-routes.ts";
import { controlKeyRoutes } from "./key-routes.ts";
import { snapshotRoutes } from "./snapshot-routes.ts";
import { stateRoutes } from "./state-routes.ts";

/** Whether a host is this machine only: an IP address of the loopback network, or `localhost`. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
  return bare === "localhost" || bare === "::1" || /^127(?:\.\d{1,3}){3}$/.test(bare);
}

function hostnameOf(header: string | undefined): string {
  return (header ?? "").replace(/:\d+$/, "");
}

/** Browsers let any page send requests without a body, but name its origin. Other clients do not. */
function isForeignPage(origin: string | undefined): boolean {
  return origin !== undefined && !isLoopback(URL.parse(origin)?.hostname ?? "");
}

/** Adds the control API for tests. Its requests and answers are JSON, and clients need no key. */
export function controlRoutes(app: FastifyInstance, parts: ServerParts, known: KnownRoutes): void {
  answerErrors(app, parts.onBug);
  app.addHook("onRequest", async (request, reply) => {
    requireLocal(parts, request);
    if (request.is404) known.refuse(request, reply);
  });
  const control = new ControlApi(app, parts, known);
  for (const routes of [clockRoutes, computeRoutes, faultRoutes, controlKeyRoutes, stateRoutes, snapshotRoutes])
    routes(control);
}

/** @throws ApiError 403 */
export function requireLocal({ controlAccess }: ServerParts, request: FastifyRequest): void {
  if (controlAccess === "everyone") return;
  if (controlAccess === "none") {
    throw new ApiError(403, "control API and page are off: the sandbox is not bound to a loopback address");
  }
  // A web page could reach the sandbox under the page's own host name, if DNS resolves that name to a loopback address.
  if (!isLoopback(hostnameOf(request.headers.host))) {
    throw new ApiError(403, "control API and page answer to a loopback host name only");
  }
  if (isForeignPage(request.headers.origin)) {
    throw new ApiError(403, "control API and page do not answer to a page of another host");
  }
}
