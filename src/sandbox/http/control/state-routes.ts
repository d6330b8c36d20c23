/** Routes for planned failures, the list lag, the request log and the reset. */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { operationActions } from "../../engine/records.ts";
import { errorResponses, timeText } from "../codecs/codec.ts";
import { ApiError } from "../parts/errors.ts";
import { queryInteger } from "../parts/lists.ts";
import type { ServerParts } from "../parts/server-parts.ts";

const failNextBody = z.object({
  action: z.enum(operationActions),
  endpointId: z.string().optional(),
  times: z.int().min(1).max(1_000_000).default(1),
  error: z.string().default("a failure was asked for"),
});

const plannedBody = failNextBody.extend({ id: z.string(), times: z.int(), error: z.string() });

const lagBody = z.object({ milliseconds: z.int().min(0).max(3_600_000) });

const entryBody = z.object({
  sequence: z.int(),
  time: z.string(),
  method: z.string(),
  path: z.string(),
  route: z.string().optional(),
  key: z.string().optional(),
  status: z.int().optional(),
  fault: z.string().optional(),
  milliseconds: z.number().optional(),
  body: z.string().optional(),
  error: z.string().optional(),
});

const countBody = z.object({ method: z.string(), route: z.string(), count: z.int() });

/** Adds the routes that plan failures, set the list lag, read the request log, and reset the sandbox. */
export function stateRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { engine, requestLog } = parts;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const nothing = { 200: z.object({}), ...errorResponses };
  routes.post(
    "/operations/fail-next",
    {
      config: { summary: "Plan failures of operations that start from now on" },
      schema: { body: failNextBody, response: nothing },
    },
    async ({ body: { action, endpointId, times, error } }) => {
      engine.failNext({ action, endpointId, times, error });
      return {};
    },
  );
  routes.get(
    "/operations/fail-next",
    {
      config: { summary: "List the planned failures" },
      schema: { response: { 200: z.object({ failures: z.array(plannedBody) }), ...errorResponses } },
    },
    async () => ({ failures: [...engine.plannedFailures()] }),
  );
  routes.delete(
    "/operations/fail-next/:id",
    {
      config: { summary: "Remove a planned failure", ignoresBody: true },
      schema: {
        params: z.object({ id: z.string() }),
        response: { 200: z.object({ removed: z.int() }), ...errorResponses },
      },
    },
    async ({ params }) => {
      if (!engine.cancelFailure(params.id)) throw new ApiError(404, "no such failure is planned, or it was used up");
      return { removed: 1 };
    },
  );
  routes.put(
    "/lists/lag",
    {
      config: { summary: "Make lists of endpoints and operations show an earlier state" },
      schema: { body: lagBody, response: { 200: lagBody, ...errorResponses } },
    },
    async ({ body }) => {
      engine.setListLag(body.milliseconds);
      return body;
    },
  );
  routes.get(
    "/requests",
    {
      config: { summary: "Read the log of requests" },
      schema: {
        querystring: z.object({ since: queryInteger(0, Number.MAX_SAFE_INTEGER).default(0) }),
        response: { 200: z.object({ requests: z.array(entryBody) }), ...errorResponses },
      },
    },
    async ({ query }) => {
      const entries = requestLog.since(query.since);
      return { requests: entries.map(({ atMs, ...entry }) => ({ ...entry, time: timeText(atMs) })) };
    },
  );
  routes.get(
    "/requests/counts",
    {
      config: { summary: "Count the requests by method and route" },
      schema: { response: { 200: z.object({ counts: z.array(countBody) }), ...errorResponses } },
    },
    async () => ({ counts: [...requestLog.counts()] }),
  );
  routes.post(
    "/reset",
    { config: { summary: "Go back to the start", ignoresBody: true }, schema: { response: nothing } },
    async () => {
      parts.reset();
      return {};
    },
  );
}
