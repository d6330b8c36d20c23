import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { endOfTimeMs } from "../../clock.ts";
import type { StoreContent } from "../../storage/store.ts";
import { ApiError } from "../api-error.ts";
import type { ServerParts } from "../server-parts.ts";
import { errorResponses } from "../wire.ts";
import { longestStepMs } from "./clock-routes.ts";
import { latestTimeMs, snapshotProblems } from "./snapshot-problems.ts";
import { snapshotBody } from "./snapshot-schema.ts";

/** A snapshot may be much larger than any other body. */
const snapshotLimit = 64 * 1024 * 1024;

/** Everything that is stored, out and in again. */
export function snapshotRoutes(app: FastifyInstance, { engine, clock, restore }: ServerParts): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const profile = engine.profile.name;
  routes.get(
    "/snapshot",
    {
      config: { summary: "Take a snapshot of everything that is stored" },
      schema: { response: { 200: snapshotBody, ...errorResponses } },
    },
    // Through text and back: a copy in which what is undefined is left out, as the schema has it.
    async () => ({ version: 1, profile, content: JSON.parse(JSON.stringify(engine.snapshot())) }) as const,
  );
  routes.put(
    "/snapshot",
    {
      bodyLimit: snapshotLimit,
      config: { summary: "Put a snapshot in the place of everything that is stored" },
      schema: {
        body: snapshotBody.extend({ profile: z.literal(profile, `this sandbox speaks ${profile}`) }),
        response: { 200: z.object({}), ...errorResponses },
      },
    },
    async ({ body }) => {
      const latestMs = latestTimeMs(body.content);
      if (latestMs > clock.nowMs() + longestStepMs) throw new ApiError(400, "content: is more than ten years ahead");
      if (latestMs > endOfTimeMs) throw new ApiError(400, "content: is later than the clock goes");
      const problems = snapshotProblems(body.content);
      if (problems.length > 0) throw new ApiError(400, problems.join("; "));
      // A field that is undefined may be missing: nobody can tell the difference by reading it.
      restore(body.content as unknown as StoreContent);
      return {};
    },
  );
}
