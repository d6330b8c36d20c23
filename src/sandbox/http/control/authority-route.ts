import type { FastifyInstance } from "fastify";
import type { ServerParts } from "../parts/server-parts.ts";

/**
 * Serves the certificate of the sandbox's own authority, PEM. It is public, so it is there for every client that reaches
 * the port, also where the control API is not.
 */
export function authorityRoute(app: FastifyInstance, { authority }: ServerParts): void {
  app.get("/ca.crt", { config: { isUndocumented: true } }, async (_request, reply) => {
    reply.header("content-disposition", 'attachment; filename="ca.crt"');
    return reply.type("application/x-x509-ca-cert").send(authority().certificate);
  });
}
