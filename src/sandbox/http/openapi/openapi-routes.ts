import type { FastifyInstance } from "fastify";
import { type DocumentOptions, type OpenApiDocument, openApiDocument } from "./openapi-document.ts";
import { referencePage } from "./reference-page.ts";
import type { DocumentedRoute } from "./route-list.ts";

/**
 * Serves the document of all routes, and a page of it for people.
 *
 * @param routes complete once the server is ready.
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
  app.get("/reference", { config }, async (_request, reply) => {
    // The page needs its own style and nothing else.
    reply.header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'");
    return reply
      .type("text/html; charset=utf-8")
      .serializer((page: string) => page)
      .send(referencePage(document()));
  });
}
