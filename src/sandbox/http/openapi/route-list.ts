/** Lists the routes of the server, and answers requests to unknown routes with 404 or 405. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { ApiError } from "../parts/errors.ts";

/** A route of the server, with everything that the OpenAPI document shows of it. */
export interface DocumentedRoute {
  readonly method: string;
  /** The path in fastify's form: `/projects/:project_id`. */
  readonly path: string;
  readonly summary: string;
  /** Fields, parameters and values that the sandbox refuses with 501. */
  readonly notPlayed: readonly string[];
  readonly params: z.ZodType | undefined;
  readonly query: z.ZodType | undefined;
  readonly body: z.ZodType | undefined;
  /** The schemas of the answers, by status: `200`, `4xx`. */
  readonly responses: Readonly<Record<string, z.ZodType>>;
}

/**
 * Lists every documented route below the prefixes that is registered after this call, without HEAD. The returned array
 * grows with each route.
 * @throws Error for a route without a summary
 */
export function listRoutes(app: FastifyInstance, prefixes: readonly string[]): readonly DocumentedRoute[] {
  const routes: DocumentedRoute[] = [];
  app.addHook("onRoute", ({ method, url, schema, config }) => {
    const isElsewhere = !prefixes.some((prefix) => url.startsWith(`${prefix}/`));
    if (isElsewhere || method === "HEAD" || config?.isUndocumented === true) return;
    const { summary, notPlayed = [] } = config ?? {};
    if (summary === undefined) throw new Error(`the route ${String(method)} ${url} has no summary`);
    routes.push({
      method: String(method),
      path: url,
      summary,
      notPlayed,
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

/** Decides whether an unknown request gets 404 (no route has this path) or 405 (a route has it with another method). */
export class KnownMethods {
  readonly #routes: readonly DocumentedRoute[];
  #patterns: readonly { readonly pattern: RegExp; readonly isLiteral: boolean; readonly method: string }[] | undefined;

  /** @param routes all routes; the array may be incomplete until the server is ready */
  constructor(routes: readonly DocumentedRoute[]) {
    this.#routes = routes;
  }

  /** Refuses a request that has no route. @throws ApiError 405 with the header `Allow`, or 404 */
  refuse(request: FastifyRequest, reply: FastifyReply): never {
    const methods = this.#methodsAt(request.url.split("?")[0] ?? "");
    if (methods.length === 0) throw new ApiError(404, "this route does not exist");
    reply.header("allow", methods.join(", "));
    throw new ApiError(405, `this route does not support the method ${request.method}`);
  }

  #methodsAt(path: string): readonly string[] {
    this.#patterns ??= this.#routes.map((route) => ({
      method: route.method,
      isLiteral: !route.path.includes(":"),
      pattern: new RegExp(`^${route.path.replace(/:\w+/g, "[^/]+")}$`),
    }));
    const fitting = this.#patterns.filter(({ pattern }) => pattern.test(path));
    // A path without placeholders goes before a path with placeholders that also fits, such as `/projects/shared`.
    const literal = fitting.filter(({ isLiteral }) => isLiteral);
    const methods = (literal.length > 0 ? literal : fitting).map(({ method }) => method);
    return [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))];
  }
}
