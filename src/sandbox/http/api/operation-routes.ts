/** Routes of the operation log. */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import type { OperationRecord } from "../../engine/records.ts";
import { Refusal } from "../../engine/refusal.ts";
import { errorResponses, operationPath, projectPath } from "../codecs/codec.ts";
import { operationBody, operationView } from "../codecs/operation.ts";
import { cursorOf, cursorPattern, jsonType, ListBody, parseCursor, queryInteger } from "../parts/lists.ts";
import type { ServerParts } from "../parts/server-parts.ts";

/** The page size if the client names none. */
const defaultLimit = 100;

const notACursor = "is not the cursor of an earlier page";

const pageQuery = z.object({
  limit: queryInteger(1, 1000).default(defaultLimit),
  cursor: z.string().regex(cursorPattern, notACursor).optional(),
});

const pageBody = z.object({
  operations: z.array(operationBody),
  pagination: z.object({ cursor: z.string() }).optional(),
});

/** Adds the routes of the operation log: a page, newest first, and a single operation. */
export function operationRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const { profile } = engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const list = new ListBody<OperationRecord>({
    field: "operations",
    schema: operationBody,
    view: (operation) => operationView(operation, profile),
  });
  routes.get(
    "/projects/:project_id/operations",
    {
      config: { summary: "List operations, newest first" },
      schema: { params: projectPath, querystring: pageQuery, response: { 200: pageBody, ...errorResponses } },
    },
    async ({ params, query }, reply) => {
      const after = query.cursor === undefined ? undefined : parseCursor(query.cursor);
      if (query.cursor !== undefined && after === undefined) {
        throw new Refusal("Invalid", `cursor: ${notACursor}`);
      }
      // The sandbox reads one operation more than requested. If there is one, another page follows.
      const found = engine.operations(params.project_id, { limit: query.limit + 1, after });
      const page = found.slice(0, query.limit);
      const last = page.at(-1);
      const hasCursor = last !== undefined && (profile.cursorOnLastPage || found.length > page.length);
      const body = hasCursor ? list.with(page, { pagination: { cursor: cursorOf(last) } }) : list.of(page);
      return reply.type(jsonType).send(body as never);
    },
  );
  routes.get(
    "/projects/:project_id/operations/:operation_id",
    {
      config: { summary: "Get an operation" },
      schema: { params: operationPath, response: { 200: z.object({ operation: operationBody }), ...errorResponses } },
    },
    async ({ params }) => {
      return { operation: operationView(engine.operation(params.project_id, params.operation_id), profile) };
    },
  );
}
