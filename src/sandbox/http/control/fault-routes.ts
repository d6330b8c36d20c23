/** Routes that add, list and remove faults. */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { errorResponses } from "../codecs/codec.ts";
import { ApiError } from "../parts/errors.ts";
import { faultSchema } from "../parts/faults.ts";
import type { ServerParts } from "../parts/server-parts.ts";

const idPath = z.object({ id: z.string() });
const stateBody = z.looseObject({ id: z.string(), seen: z.int(), hits: z.int(), held: z.int() });
const removedBody = z.object({ removed: z.int() });

/** Adds the routes for faults. A fault is an error between client and control plane that a test asks for. */
export function faultRoutes(app: FastifyInstance, { faults }: ServerParts): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.post(
    "/faults",
    {
      config: { summary: "Ask for a fault" },
      schema: { body: faultSchema, response: { 201: z.object({ id: z.string() }), ...errorResponses } },
    },
    async ({ body }, reply) => reply.code(201).send({ id: faults.add(body) }),
  );
  routes.get(
    "/faults",
    {
      config: { summary: "List the faults" },
      schema: { response: { 200: z.object({ faults: z.array(stateBody) }), ...errorResponses } },
    },
    async () => ({ faults: faults.list().map((fault) => ({ ...fault })) }),
  );
  routes.delete(
    "/faults",
    {
      config: { summary: "Remove every fault" },
      schema: { response: { 200: removedBody, ...errorResponses } },
    },
    async () => {
      return { removed: faults.clear() };
    },
  );
  routes.delete(
    "/faults/:id",
    {
      config: { summary: "Remove a fault" },
      schema: { params: idPath, response: { 200: removedBody, ...errorResponses } },
    },
    async ({ params }) => {
      if (!faults.remove(params.id)) throw new ApiError(404, "fault not found");
      return { removed: 1 };
    },
  );
  routes.post(
    "/faults/:id/release",
    {
      config: { summary: "Let held answers go, apply requests that were set aside", ignoresBody: true },
      schema: { params: idPath, response: { 200: z.object({ released: z.int() }), ...errorResponses } },
    },
    async ({ params }) => {
      const released = faults.release(params.id);
      if (released === undefined) throw new ApiError(404, "fault not found");
      return { released };
    },
  );
}
