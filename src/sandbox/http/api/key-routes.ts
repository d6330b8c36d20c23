import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { nameText } from "../../name-text.ts";
import { ApiError } from "../api-error.ts";
import type { KeyUse } from "../key-ring.ts";
import { accountId } from "../object-views.ts";
import { queryInteger } from "../query-integer.ts";
import type { ServerParts } from "../server-parts.ts";
import { timeText } from "../views.ts";
import { errorResponses } from "../wire.ts";

const madeBody = z.object({
  id: z.int(),
  key: z.string(),
  name: z.string(),
  created_at: z.string(),
  created_by: z.string(),
});

const useShape = { last_used_at: z.string().nullable(), last_used_from_addr: z.string() };

const listedBody = z.object({
  id: z.int(),
  name: z.string(),
  created_at: z.string(),
  created_by: z.object({ id: z.string(), name: z.string(), image: z.string() }),
  ...useShape,
});

const revokedBody = madeBody.omit({ key: true }).extend({ ...useShape, revoked: z.boolean() });

const keyPath = z.object({ key_id: queryInteger(0, Number.MAX_SAFE_INTEGER) });

/** The account's own keys, as the public API has them; keys with a scope are made by `/sandbox/v1/keys`. */
export function keyRoutes(app: FastifyInstance, { keyRing }: ServerParts): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    "/api_keys",
    {
      config: { summary: "List API keys", isAccountWide: true },
      schema: { response: { 200: z.array(listedBody), ...errorResponses } },
    },
    async () =>
      keyRing.list().map((key) => ({
        id: key.sequence,
        name: key.name,
        created_at: timeText(key.createdMs),
        created_by: { id: accountId, name: "Sandbox", image: "" },
        ...useView(keyRing.lastUse(key.id)),
      })),
  );
  routes.post(
    "/api_keys",
    {
      config: { summary: "Create an API key", isAccountWide: true },
      schema: { body: z.object({ key_name: nameText(64) }), response: { 200: madeBody, ...errorResponses } },
    },
    async ({ body }) => {
      const { record, key } = keyRing.create(body.key_name);
      const { sequence: id, name, createdMs } = record;
      return { id, key, name, created_at: timeText(createdMs), created_by: accountId };
    },
  );
  routes.delete(
    "/api_keys/:key_id",
    {
      config: { summary: "Revoke an API key", ignoresBody: true, isAccountWide: true },
      schema: { params: keyPath, response: { 200: revokedBody, ...errorResponses } },
    },
    async ({ params }) => {
      const key = keyRing.list().find(({ sequence }) => sequence === params.key_id);
      if (key === undefined) throw new ApiError(404, "API key not found");
      const use = useView(keyRing.lastUse(key.id));
      keyRing.revoke(key.id);
      const { sequence: id, name, createdMs } = key;
      return { id, name, created_at: timeText(createdMs), created_by: accountId, ...use, revoked: true };
    },
  );
}

function useView(use: KeyUse | undefined) {
  return { last_used_at: use === undefined ? null : timeText(use.atMs), last_used_from_addr: use?.address ?? "" };
}
