import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "./api-error.ts";
import type { DocumentedRoute } from "./openapi/route-list.ts";

/** Tells a path that nobody knows from one that is only known for other methods. */
export class KnownMethods {
  readonly #routes: readonly DocumentedRoute[];
  #patterns: readonly { readonly pattern: RegExp; readonly isLiteral: boolean; readonly method: string }[] | undefined;

  /** @param routes complete once the server is ready. */
  constructor(routes: readonly DocumentedRoute[]) {
    this.#routes = routes;
  }

  /**
   * For a request that has no route.
   *
   * @throws ApiError 405 with the header `Allow`, or 404
   */
  refuse(request: FastifyRequest, reply: FastifyReply): never {
    const methods = this.#methodsAt(request.url.split("?")[0] ?? "");
    if (methods.length === 0) throw new ApiError(404, "this route does not exist");
    reply.header("allow", methods.join(", "));
    throw new ApiError(405, `this route does not know the method ${request.method}`);
  }

  #methodsAt(path: string): readonly string[] {
    this.#patterns ??= this.#routes.map((route) => ({
      method: route.method,
      isLiteral: !route.path.includes(":"),
      pattern: new RegExp(`^${route.path.replace(/:\w+/g, "[^/]+")}$`),
    }));
    const fitting = this.#patterns.filter(({ pattern }) => pattern.test(path));
    // A path that is written out goes before one that it would fit as well, such as `/projects/shared`.
    const literal = fitting.filter(({ isLiteral }) => isLiteral);
    const methods = (literal.length > 0 ? literal : fitting).map(({ method }) => method);
    return [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))];
  }
}
