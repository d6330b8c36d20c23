/** Makes the sandbox's OpenAPI document. */
import { z } from "zod";
import type { OpenApiContent, OpenApiDocument, OpenApiOperation, OpenApiParameter } from "./openapi-types.ts";
import type { KnownRoute } from "./routes.ts";
import { type JsonSchema, jsonSchema, resolved } from "./specification.ts";

/** The form of every error answer. @see docs/sandbox.md "Errors" */
const errorBody = z.object({ request_id: z.string(), code: z.string(), message: z.string() });

export interface DocumentOptions {
  readonly profile: string;
  /** Routes below this prefix need a key. */
  readonly keyedPrefix: string;
}

/** Makes the document of these routes: requests from the schemas that check them, answers from the specification. */
export function openApiDocument(routes: readonly KnownRoute[], options: DocumentOptions): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route, options) };
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

function operationOf(route: KnownRoute, { keyedPrefix, profile }: DocumentOptions): OpenApiOperation {
  const { operationId, summary, tag, path, query, body, answers, notPlayed = [] } = route;
  const answer = (schema: JsonSchema | z.ZodType | null) =>
    schema === null
      ? { description: "There was nothing to delete" }
      : { description: "Carried out", content: contentOf(answerSchema(schema, profile)) };
  return {
    operationId,
    summary,
    ...(notPlayed.length > 0 && { "x-not-played": notPlayed }),
    tags: [tag],
    ...(path.startsWith(keyedPrefix) && { security: [{ apiKey: [] }] }),
    parameters: [...inPath(path), ...(query === undefined ? [] : inQuery(jsonSchema(query)))],
    ...(body && {
      requestBody: { required: !body.safeParse(undefined).success, content: contentOf(jsonSchema(body)) },
    }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, schema]) => [status, answer(schema)])),
      // OpenAPI writes ranges of statuses in capitals.
      "4XX": { description: "Refused", content: contentOf(jsonSchema(errorBody)) },
    },
  };
}

/**
 * A value of an enumeration may be new to the public API, such as an action of an operation. The profile `seed` shows
 * fewer fields than the specification has, so it promises none.
 */
function answerSchema(schema: JsonSchema | z.ZodType, profile: string): JsonSchema {
  if (schema instanceof z.ZodType) return jsonSchema(schema, "output");
  const left = profile === "public" ? ["enum"] : ["enum", "required"];
  return JSON.parse(JSON.stringify(resolved(schema), (name, value) => (left.includes(name) ? undefined : value)));
}

function inPath(path: string): readonly OpenApiParameter[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  return names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } }));
}

function inQuery({ properties = {}, required = [] }: JsonSchema): readonly OpenApiParameter[] {
  return Object.entries(properties).map(([name, schema]) => {
    return { name, in: "query", required: required.includes(name), schema };
  });
}

function contentOf(schema: JsonSchema): OpenApiContent {
  return { "application/json": { schema } };
}
