/** Makes the sandbox's OpenAPI document, and adds the route that returns it. */
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type {
  JsonSchema,
  OpenApiContent,
  OpenApiDocument,
  OpenApiOperation,
  OpenApiParameter,
} from "./openapi-types.ts";
import type { DocumentedRoute } from "./route-list.ts";

/** The profile that an OpenAPI document names, and the prefix of the routes that need a key. */
export interface DocumentOptions {
  readonly profile: string;
  /** Routes below this prefix need a key. */
  readonly keyedPrefix: string;
}

/** Makes the OpenAPI document of these routes from the schemas that check their requests and answers. */
export function openApiDocument(routes: readonly DocumentedRoute[], options: DocumentOptions): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, path, options) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Sandbox control plane",
      version: "v2",
      description: `A local control plane, profile ${options.profile}, and the calls that control it.`,
    },
    servers: [{ url: "/" }],
    paths,
    components: { securitySchemes: { apiKey: { type: "http", scheme: "bearer" } } },
  };
}

function operationOf(route: DocumentedRoute, path: string, { keyedPrefix }: DocumentOptions): OpenApiOperation {
  const isKeyed = path.startsWith(keyedPrefix);
  return {
    operationId: `${route.method.toLowerCase()}${path.replace(/[^a-z0-9_]+/gi, "_").replace(/_+$/, "")}`,
    summary: route.summary,
    ...(route.notPlayed.length === 0 ? {} : { "x-not-played": route.notPlayed }),
    tags: [tagOf(path, isKeyed)],
    ...(isKeyed ? { security: [{ apiKey: [] }] } : {}),
    parameters: [...parametersOf(route.params, "path"), ...parametersOf(route.query, "query")],
    ...(route.body === undefined ? {} : { requestBody: bodyOf(route.body) }),
    responses: Object.fromEntries(Object.entries(route.responses).map(([status, schema]) => answerOf(status, schema))),
  };
}

/** Returns the tag of a route. */
function tagOf(path: string, isKeyed: boolean): string {
  if (!isKeyed) return "control";
  const kinds =
    /\/(endpoints|operations|branches|roles|databases|connection_uri|projects|regions|users|auth|api_keys)/g;
  return [...path.matchAll(kinds)].at(-1)?.[1] ?? "account";
}

function parametersOf(schema: z.ZodType | undefined, place: "path" | "query"): readonly OpenApiParameter[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = jsonSchema(schema, "input") as {
    properties?: Record<string, JsonSchema>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: property,
  }));
}

function bodyOf(schema: z.ZodType): NonNullable<OpenApiOperation["requestBody"]> {
  return { required: !schema.safeParse(undefined).success, content: contentOf(jsonSchema(schema, "input")) };
}

function answerOf(status: string, schema: z.ZodType): [string, OpenApiOperation["responses"][string]] {
  const isError = status === "4xx";
  const description = isError ? "Refused" : "Carried out";
  // OpenAPI writes ranges of statuses in capitals.
  const name = isError ? "4XX" : status;
  if (schema instanceof z.ZodUndefined) return [name, { description: "There was nothing to delete" }];
  return [name, { description, content: contentOf(jsonSchema(schema, "output")) }];
}

function contentOf(schema: JsonSchema): OpenApiContent {
  return { "application/json": { schema } };
}

function jsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: "draft-2020-12", io });
  return rest;
}

/**
 * Adds the route `/openapi.json`, which returns the OpenAPI document of all routes. The document is made at the first
 * request.
 * @param routes complete once the server is ready
 */
export function openApiRoutes(
  app: FastifyInstance,
  routes: readonly DocumentedRoute[],
  options: DocumentOptions,
): void {
  let made: OpenApiDocument | undefined;
  const document = (): OpenApiDocument => {
    made ??= openApiDocument(routes, options);
    return made;
  };
  const config = { isUndocumented: true };
  app.get("/openapi.json", { config }, async (_request, reply) => {
    return reply.type("application/json; charset=utf-8").serializer(JSON.stringify).send(document());
  });
}
