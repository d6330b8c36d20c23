/** Adds the routes of the server, and knows all of them: for the OpenAPI document, and for 404 and 405. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { KeyRecord } from "../../engine/records.ts";
import { ApiError } from "../parts/errors.ts";
import type { RouteRights } from "../parts/route-config.ts";
import type { JsonSchema } from "./specification.ts";

/** What a route takes, and which keys may call it. */
export interface RouteShape<Q extends z.ZodType, B extends z.ZodType> extends RouteRights {
  readonly query?: Q;
  /** Without a schema the route takes no body: what a client sends is dropped. */
  readonly body?: B;
  readonly bodyLimit?: number;
}

/** What the OpenAPI document says about a route. */
export interface RouteFacts {
  readonly method: string;
  /** The path below the prefix, with its parameters in braces. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly tag: string;
  /** The schemas of the answers by status, the usual one first; `null`: no body. */
  readonly answers: Readonly<Record<string, JsonSchema | z.ZodType | null>>;
  /** Fields, parameters and values that the sandbox refuses with 501. */
  readonly notPlayed?: readonly string[];
}

/** A route with its whole path. */
export interface KnownRoute extends RouteFacts {
  readonly query: z.ZodType | undefined;
  readonly body: z.ZodType | undefined;
  /** Whether the sandbox answers every request with 501. */
  readonly isUnplayed: boolean;
}

/** The parameters of a path. A path has only some of them. */
export type Ids = Readonly<
  Record<
    | "projectId"
    | "branchId"
    | "endpointId"
    | "operationId"
    | "snapshotId"
    | "keyId"
    | "roleName"
    | "databaseName"
    | "id",
    string
  >
>;

/** A request after the checks. */
export interface Call<Q extends z.ZodType, B extends z.ZodType> {
  readonly ids: Ids;
  readonly query: z.output<Q>;
  readonly body: z.output<B>;
  readonly key: KeyRecord | undefined;
}

/** The answer 204, in place of a body. */
export const noContent = Symbol("noContent");

/** The content type of answers that are already JSON. */
const jsonType = "application/json; charset=utf-8";

/** Adds routes to a part of the server. */
export class Routes {
  readonly #app: FastifyInstance;
  readonly #known: KnownRoutes;

  constructor(app: FastifyInstance, known: KnownRoutes) {
    this.#app = app;
    this.#known = known;
  }

  /** Adds a route. `run` returns the body of the answer: an object, JSON in a buffer, or `noContent`. */
  add<Q extends z.ZodType, B extends z.ZodType>(
    facts: RouteFacts,
    { query, body, bodyLimit, ...rights }: RouteShape<Q, B>,
    run: (call: Call<Q, B>) => unknown,
  ): void {
    const { method, path, notPlayed = [], answers } = facts;
    this.#known.add({ ...facts, path: `${this.#app.prefix}${path}`, query, body, isUnplayed: false });
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [camelCase(name), name] as const);
    const status = Number(Object.keys(answers)[0]);
    this.#app.route({
      method,
      url: urlOf(path),
      ...(bodyLimit !== undefined && { bodyLimit }),
      config: { ...rights, notPlayed, ignoresBody: body === undefined && method !== "DELETE" },
      schema: { ...(query && { querystring: query }), ...(body && { body }) },
      handler: async (request, reply) => {
        const params = request.params as Readonly<Record<string, string>>;
        const ids = Object.fromEntries(names.map(([id, name]) => [id, params[name]]));
        const answer = await run({ ids, query: request.query, body: request.body, key: request.apiKey } as Call<Q, B>);
        if (answer === noContent) return reply.code(204).send();
        if (Buffer.isBuffer(answer)) reply.type(jsonType);
        return reply.code(status).send(answer);
      },
    });
  }

  /** Adds a route that refuses every request. */
  refuse(facts: RouteFacts, error: ApiError): void {
    const { method, path } = facts;
    this.#known.add({
      ...facts,
      path: `${this.#app.prefix}${path}`,
      query: undefined,
      body: undefined,
      isUnplayed: true,
    });
    this.#app.route({ method, url: urlOf(path), config: { ignoresBody: true }, handler: () => Promise.reject(error) });
  }
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const urlOf = (path: string): string => path.replace(/\{(\w+)\}/g, ":$1");

/** All routes of the server. It decides whether an unknown request gets 404 (no such path) or 405 (another method). */
export class KnownRoutes {
  readonly #routes: (KnownRoute & { readonly pattern: RegExp })[] = [];

  add(route: KnownRoute): void {
    this.#routes.push({ ...route, pattern: new RegExp(`^${route.path.replace(/\{\w+\}/g, "[^/]+")}$`) });
  }

  /** Returns the routes of which the OpenAPI document tells. */
  played(): readonly KnownRoute[] {
    return this.#routes.filter(({ isUnplayed }) => !isUnplayed);
  }

  /** Refuses a request that has no route. @throws ApiError 405 with the header `Allow`, or 404 */
  refuse(request: FastifyRequest, reply: FastifyReply): never {
    const methods = this.#methodsAt(request.url.split("?")[0] ?? "");
    if (methods.length === 0) throw new ApiError(404, "this route does not exist");
    reply.header("allow", methods.join(", "));
    throw new ApiError(405, `this route does not support the method ${request.method}`);
  }

  #methodsAt(path: string): readonly string[] {
    const fitting = this.#routes.filter(({ pattern }) => pattern.test(path));
    // A path without placeholders goes before a path with placeholders that also fits, such as `/projects/shared`.
    const literal = fitting.filter((route) => !route.path.includes("{"));
    const methods = (literal.length > 0 ? literal : fitting).map(({ method }) => method);
    return [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))];
  }
}
