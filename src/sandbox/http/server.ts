/** Builds the HTTP server of the sandbox: the API, the control API, and the pages. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import fastify, { type FastifyInstance } from "fastify";
import { validatorCompiler } from "fastify-type-provider-zod";
import { accountRoutes, keyRoutes } from "./api/account-routes.ts";
import { connectionRoutes, databaseRoutes, roleRoutes } from "./api/branch-object-routes.ts";
import { branchRoutes } from "./api/branch-routes.ts";
import { checkPgSettings } from "./api/checked-settings.ts";
import { consumptionRoutes } from "./api/consumption-routes.ts";
import { endpointRoutes } from "./api/endpoint-routes.ts";
import { Lifecycle } from "./api/lifecycle.ts";
import { operationRoutes } from "./api/operation-routes.ts";
import { projectRoutes } from "./api/project-routes.ts";
import { PublicApi } from "./api/public-api.ts";
import { schemaRoutes } from "./api/schema-routes.ts";
import { snapshotRoutes } from "./api/snapshot-routes.ts";
import { authorityRoute } from "./control/authority-route.ts";
import { controlRoutes } from "./control/control-routes.ts";
import { answerErrors, answerTo, sendError } from "./parts/errors.ts";
import type { ServerParts } from "./parts/server-parts.ts";
import { readBodies } from "./request-body.ts";
import { openApiDocument } from "./specification/openapi-document.ts";
import { KnownRoutes } from "./specification/routes.ts";

/** In the order of the API reference. */
const apiRoutes = [
  endpointRoutes,
  operationRoutes,
  projectRoutes,
  branchRoutes,
  roleRoutes,
  databaseRoutes,
  connectionRoutes,
  snapshotRoutes,
  schemaRoutes,
  consumptionRoutes,
  accountRoutes,
  keyRoutes,
];

export const apiPrefix = "/api/v2";
export const controlPrefix = "/sandbox/v1";

/** The time limit for a request to arrive, in milliseconds. The answer has no such limit. */
const arrivalLimitMs = 30_000;

export type RouteSet = (app: FastifyInstance, parts: ServerParts) => void;

/** @param more functions that add further routes, for instance those of the page */
export function buildServer(parts: ServerParts, more: readonly RouteSet[] = []): FastifyInstance {
  const app = fastify({
    genReqId: requestIdOf,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 256 },
    requestTimeout: arrivalLimitMs,
    http: { requireHostHeader: false, headersTimeout: arrivalLimitMs, connectionsCheckingInterval: 5_000 },
    frameworkErrors: (error, request, reply) => {
      sendError(request, reply, answerTo(error));
    },
  });
  app.setValidatorCompiler(validatorCompiler);
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  // All answers of one turn of the event loop are sent together: waking a client costs more than most requests.
  app.addHook("onSend", (_request, reply, payload, done) => {
    // After an error of the sandbox itself, the process may end soon.
    if (reply.statusCode >= 500) done(null, payload);
    else setImmediate(done, null, payload);
  });
  readBodies(app);
  answerErrors(app, parts.onBug);
  const known = new KnownRoutes();
  app.register(async (api) => registerApi(api, parts, known), { prefix: apiPrefix });
  app.register(
    async (control) => {
      controlRoutes(control, parts, known);
      const options = { profile: parts.engine.profile.name, keyedPrefix: apiPrefix };
      control.get("/openapi.json", () => openApiDocument(known.played(), options));
    },
    { prefix: controlPrefix },
  );
  app.register(async (open) => authorityRoute(open, parts), { prefix: controlPrefix });
  for (const routes of more) app.register(async (own) => routes(own, parts));
  return app;
}

function registerApi(app: FastifyInstance, parts: ServerParts, known: KnownRoutes): void {
  new Lifecycle(app, parts, known).install();
  // A second error handler below the prefix makes unknown routes run the hooks, so the key is checked before the 404.
  answerErrors(app, parts.onBug);
  checkPgSettings(app, parts);
  const api = new PublicApi(app, parts, known);
  for (const routes of apiRoutes) routes(api);
  api.refuseOthers();
}

/** The client's `X-Request-ID` if it has 1 to 128 visible ASCII characters, else a random id. */
function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers["x-request-id"];
  return typeof sent === "string" && /^[\x21-\x7e]{1,128}$/.test(sent) ? sent : randomUUID();
}
