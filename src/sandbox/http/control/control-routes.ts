import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError } from "../api-error.ts";
import { answerErrors } from "../error-answers.ts";
import type { KnownMethods } from "../known-methods.ts";
import type { ServerParts } from "../server-parts.ts";
import { clockRoutes } from "./clock-routes.ts";
import { computeRoutes } from "./compute-routes.ts";
import { faultRoutes } from "./fault-routes.ts";
import { controlKeyRoutes } from "./key-routes.ts";
import { hostnameOf, isForeignPage, isLoopback } from "./loopback.ts";
import { snapshotRoutes } from "./snapshot-routes.ts";
import { stateRoutes } from "./state-routes.ts";

/** Control over the sandbox, for tests. JSON in and out, no key. */
export function controlRoutes(app: FastifyInstance, parts: ServerParts, known: KnownMethods): void {
  answerErrors(app, parts.onBug);
  app.addHook("onRequest", async (request, reply) => {
    requireAccess(parts, request);
    if (request.is404) known.refuse(request, reply);
  });
  for (const routes of [clockRoutes, computeRoutes, faultRoutes, controlKeyRoutes, stateRoutes, snapshotRoutes])
    routes(app, parts);
}

/** @throws ApiError 403 */
function requireAccess(parts: ServerParts, request: FastifyRequest): void {
  if (parts.controlAccess === "anybody") return;
  if (parts.controlAccess === "nobody") {
    throw new ApiError(403, "the control API is off: the sandbox is not bound to a loopback address");
  }
  // A page in a browser could reach us under a name of its own that resolves to loopback.
  if (!isLoopback(hostnameOf(request.headers.host))) {
    throw new ApiError(403, "the control API answers to a loopback host name only");
  }
  if (isForeignPage(request.headers.origin)) {
    throw new ApiError(403, "the control API does not answer to a page of another host");
  }
}
