import type { FastifyInstance } from "fastify";
import { z } from "zod";

/** A route as the server has it, for the document. */
export interface DocumentedRoute {
  readonly method: string;
  /** As fastify writes it: `/projects/:project_id`. */
  readonly path: string;
  readonly summary: string;
  readonly params: z.ZodType | undefined;
  readonly query: z.ZodType | undefined;
  readonly body: z.ZodType | undefined;
  /** By status, as the route has it: `200`, `4xx`. */
  readonly responses: Readonly<Record<string, z.ZodType>>;
}

/**
 * Notes every route that is registered from now on below the prefixes; the list fills as they come.
 *
 * @throws Error for a route that does not say what it does.
 */
export function listRoutes(app: FastifyInstance, prefixes: readonly string[]): readonly DocumentedRoute[] {
  const routes: DocumentedRoute[] = [];
  app.addHook("onRoute", ({ method, url, schema, config }) => {
    const isElsewhere = !prefixes.some((prefix) => url.startsWith(`${prefix}/`));
    if (isElsewhere || method === "HEAD" || config?.isUndocumented === true) return;
    const { summary } = config ?? {};
    if (summary === undefined) throw new Error(`the route ${String(method)} ${url} has no summary`);
    routes.push({
      method: String(method),
      path: url,
      summary,
      params: schemaOr(schema?.params),
      query: schemaOr(schema?.querystring),
      body: schemaOr(schema?.body),
      responses: (schema?.response ?? {}) as Readonly<Record<string, z.ZodType>>,
    });
  });
  return routes;
}

function schemaOr(schema: unknown): z.ZodType | undefined {
  return schema instanceof z.ZodType ? schema : undefined;
}
