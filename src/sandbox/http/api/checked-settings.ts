/** Refuses settings that PostgreSQL refuses, before a request changes anything. */
import type { FastifyInstance } from "fastify";
import { ApiError } from "../parts/errors.ts";
import type { ServerParts } from "../parts/server-parts.ts";

/** A compute with a wrong setting could not start again. Without computes, nothing is checked. */
export function checkPgSettings(app: FastifyInstance, { computes }: ServerParts): void {
  if (computes === undefined) return;
  app.addHook("preHandler", async ({ body }) => {
    for (const settings of pgSettingsIn(body)) {
      await computes.checkSettings(settings).catch((error: Error) => {
        throw new ApiError(400, error.message);
      });
    }
  });
}

function pgSettingsIn(body: unknown): readonly Readonly<Record<string, string>>[] {
  if (typeof body !== "object" || body === null) return [];
  return Object.entries(body).flatMap(([name, value]) =>
    name === "pg_settings" && typeof value === "object" ? [value] : pgSettingsIn(value),
  );
}
