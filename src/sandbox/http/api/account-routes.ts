import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { branchLimits, projectLimit } from "../../engine/limits.ts";
import { type Region, regions } from "../../engine/regions.ts";
import { accountId } from "../object-views.ts";
import type { ServerParts } from "../server-parts.ts";
import { errorResponses } from "../wire.ts";

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

/** Who is calling, and where projects can be. */
export function accountRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const largest = Math.max(...engine.profile.sizes.scalable);
  routes.get(
    "/regions",
    {
      config: { summary: "List regions" },
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
      config: { summary: "Tell how the request is authenticated" },
      schema: { response: { 200: authBody, ...errorResponses } },
    },
    async () => ({ account_id: accountId, auth_method: "api_key_user" }),
  );
}

/** A region that only a fixture knows has no place on the map. */
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
