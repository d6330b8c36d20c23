/** The route that returns the certificate of the sandbox's own authority. */
import type { FastifyInstance } from "fastify";
import type { ServerParts } from "../parts/server-parts.ts";

/**
 * Adds the route, which answers with PEM. A certificate is public: every client that reaches the port may read it, even
 * if the control API is off.
 */
export function authorityRoute(app: FastifyInstance, { authority }: ServerParts): void {
  app.get("/ca.crt", { config: { isUndocumented: true } }, async (_request, reply) => {
    reply.header("content-disposition", 'attachment; filename="ca.crt"');
    return reply.type("application/x-x509-ca-cert").send(authority().certificate);
  });
}
