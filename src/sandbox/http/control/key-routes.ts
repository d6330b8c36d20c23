/** Routes that make, list and revoke API keys. A key may be limited to reading, or to one project. */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { type KeyRecord, nameText } from "../../engine/records.ts";
import { errorResponses } from "../codecs/codec.ts";
import { ApiError } from "../parts/errors.ts";
import type { ServerParts } from "../parts/server-parts.ts";

const scopeSchema = z.object({
  access: z.enum(["read", "write"]).default("write"),
  projectId: z.string().min(1).max(64).optional(),
});

const keyBody = z.object({ id: z.string(), name: z.string(), scope: scopeSchema });

/** Adds the routes for API keys. With another key, a test can imitate another client. */
export function controlKeyRoutes(app: FastifyInstance, { keyRing }: ServerParts): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.post(
    "/keys",
    {
      config: { summary: "Make an API key" },
      schema: {
        body: z.object({ name: nameText(64), scope: scopeSchema.optional() }),
        response: { 201: keyBody.extend({ key: z.string() }), ...errorResponses },
      },
    },
    async ({ body }, reply) => {
      const { record, key } = keyRing.create(body.name, body.scope);
      return reply.code(201).send({ ...keyView(record), key });
    },
  );
  routes.get(
    "/keys",
    {
      config: { summary: "List the API keys" },
      schema: { response: { 200: z.object({ keys: z.array(keyBody) }), ...errorResponses } },
    },
    async () => ({ keys: keyRing.list().map(keyView) }),
  );
  routes.delete(
    "/keys/:id",
    {
      config: { summary: "Revoke an API key" },
      schema: {
        params: z.object({ id: z.string() }),
        response: { 200: z.object({ removed: z.int() }), ...errorResponses },
      },
    },
    async ({ params }) => {
      if (!keyRing.revoke(params.id)) throw new ApiError(404, "key not found");
      return { removed: 1 };
    },
  );
}

function keyView({ id, name, access, projectId }: KeyRecord): z.output<typeof keyBody> {
  return { id, name, scope: { access, projectId } };
}
