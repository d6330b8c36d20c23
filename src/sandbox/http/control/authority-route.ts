/** The routes for every client: whether the sandbox is ready, and the certificate of its own authority. */
import type { FastifyInstance } from "fastify";
import type { ServerParts } from "../parts/server-parts.ts";

/** A certificate is public: every client may read it, even if the control API is off. */
export function authorityRoute(app: FastifyInstance, { authority }: ServerParts): void {
  app.get("/health", async () => ({ status: "ok" }));
  app.get("/ca.crt", async (_request, reply) => {
    reply.header("content-disposition", 'attachment; filename="ca.crt"');
    return reply.type("application/x-x509-ca-cert").send(authority().certificate);
  });
}
