/** Routes for the account, its regions and its API keys. */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { nameText } from "../../engine/records.ts";
import { branchLimits, projectLimit, type Region, regions } from "../../engine/settings.ts";
import { errorResponses, timeText } from "../codecs/codec.ts";
import { accountId } from "../codecs/project.ts";
import { ApiError } from "../parts/errors.ts";
import type { KeyUse } from "../parts/key-ring.ts";
import { queryInteger } from "../parts/lists.ts";
import type { ServerParts } from "../parts/server-parts.ts";

const regionBody = z.object({
  region_id: z.string(),
  name: z.string(),
  default: z.boolean(),
  geo_lat: z.string(),
  geo_long: z.string(),
});

const userBody = z.object({
  id: z.string(),
  login: z.string(),
  name: z.string(),
  last_name: z.string(),
  email: z.string(),
  image: z.string(),
  plan: z.string(),
  auth_accounts: z.array(z.object({})),
  active_seconds_limit: z.int(),
  projects_limit: z.int(),
  branches_limit: z.int(),
  max_autoscaling_limit: z.number(),
});

const authBody = z.object({ account_id: z.string(), auth_method: z.string() });

export function accountRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const largest = Math.max(...engine.profile.sizes.scalable);
  routes.get(
    "/regions",
    {
      config: { summary: "List regions", notPlayed: ["org_id"] },
      schema: { response: { 200: z.object({ regions: z.array(regionBody) }), ...errorResponses } },
    },
    async () => ({ regions: engine.regionIds().map(regionView) }),
  );
  routes.get(
    "/users/me",
    { config: { summary: "Get the account" }, schema: { response: { 200: userBody, ...errorResponses } } },
    async () => ({
      id: accountId,
      login: "sandbox",
      name: "Sandbox",
      last_name: "",
      email: "sandbox@example.com",
      image: "",
      plan: "paid",
      auth_accounts: [],
      active_seconds_limit: 0,
      projects_limit: projectLimit,
      branches_limit: branchLimits.paid,
      max_autoscaling_limit: largest,
    }),
  );
  routes.get(
    "/users/me/organizations",
    {
      config: { summary: "List the account's organizations; there are never any" },
      schema: { response: { 200: z.object({ organizations: z.array(z.object({})) }), ...errorResponses } },
    },
    async () => ({ organizations: [] }),
  );
  routes.get(
    "/auth",
    {
      config: { summary: "Show how the request is authenticated" },
      schema: { response: { 200: authBody, ...errorResponses } },
    },
    async () => ({ account_id: accountId, auth_method: "api_key_user" }),
  );
}

/** Shows a region. Only the built-in regions have coordinates. */
function regionView(id: string, index: number): z.output<typeof regionBody> {
  const known: Region | undefined = regions.find((region) => region.id === id);
  return {
    region_id: id,
    name: known?.name ?? id,
    default: index === 0,
    geo_lat: String(known?.latitude ?? ""),
    geo_long: String(known?.longitude ?? ""),
  };
}

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

/**
 * Adds the routes for the account's own keys, as in the public API. Keys that may only read or use only one project are
 * made at `/sandbox/v1/keys`.
 */
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
      config: { summary: "Revoke an API key", isAccountWide: true },
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
