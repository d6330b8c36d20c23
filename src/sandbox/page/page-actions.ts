/** Routes for buttons of the page that start, suspend and restart computes, and show connection strings. */
import type { FastifyInstance } from "fastify";
import { Refusal } from "../engine/refusal.ts";
import { connectionUri } from "../http/codecs/branch-objects.ts";
import type { ServerParts } from "../http/parts/server-parts.ts";

interface EndpointPath {
  readonly project: string;
  readonly endpoint: string;
}

/** Adds the routes for the buttons. The public API has these calls too, but needs a key for them. */
export function pageActions(app: FastifyInstance, { engine, pacemaker, databaseAddress }: ServerParts): void {
  const powers = {
    start: engine.startEndpoint.bind(engine),
    suspend: engine.suspendEndpoint.bind(engine),
    restart: engine.restartEndpoint.bind(engine),
  } as const;
  const path = "/page/projects/:project/endpoints/:endpoint";
  for (const [name, change] of Object.entries(powers)) {
    app.post<{ Params: EndpointPath }>(`${path}/${name}`, async ({ params }) => {
      const { operations } = change(params.project, params.endpoint);
      pacemaker.look();
      return { operations: operations.map(({ action }) => action) };
    });
  }
  app.get<{ Params: EndpointPath }>(`${path}/connection-string`, async ({ params }, reply) => {
    const { branchId } = engine.endpoint(params.project, params.endpoint);
    const [database] = engine.objects.databases(params.project, branchId);
    if (database === undefined) {
      throw new Refusal("NotFound", "the branch has no database; create one with POST …/branches/{b}/databases");
    }
    const connection = engine.objects.connection(params.project, {
      branchId,
      endpointId: params.endpoint,
      databaseName: database.name,
      roleName: database.ownerName,
    });
    return reply
      .type("text/plain; charset=utf-8")
      .send(connectionUri({ ...connection, address: databaseAddress?.() }, false));
  });
}
