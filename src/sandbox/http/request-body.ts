/** Reads the bodies of requests as JSON, with the sandbox's own limits and errors. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError } from "./parts/errors.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** As the client sent it, before fastify could refuse it. */
    sentContentType: string | undefined;
    sentBody: Buffer | undefined;
  }
}

/** The maximum size of a body, in bytes. Only the import of a snapshot has a larger limit. */
export const bodyLimit = 256 * 1024;

const deepestNesting = 32;

/** All requests share it, because it keeps no state and is expensive to make. */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/** Every body must be JSON. Errors: 400 malformed or nested too deeply, 413 too large, 415 not JSON. */
export function readBodies(app: FastifyInstance): void {
  app.decorateRequest("sentContentType", undefined);
  app.decorateRequest("sentBody", undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer", bodyLimit }, (request, body: Buffer, done) => {
    request.sentBody = body;
    let parsed: unknown;
    try {
      parsed = isWanted(request, body) ? parseJson(request.sentContentType, body) : undefined;
    } catch (error) {
      done(error as Error);
      return;
    }
    done(null, parsed);
  });
  app.addHook("onRequest", (request, _reply, done) => {
    const { headers } = request.raw;
    request.sentContentType = headers["content-type"];
    // fastify would answer 415 to a content type that it does not know, even without a body.
    if (headers["content-type"] !== undefined) headers["content-type"] = "application/octet-stream";
    done();
  });
}

function isWanted({ routeOptions, is404, method, sentContentType }: FastifyRequest, body: Buffer): boolean {
  // A DELETE needs no body. A JSON body of a DELETE is still checked; any other body is ignored.
  if (method === "DELETE" && !isJson(sentContentType)) return false;
  return routeOptions.config.ignoresBody !== true && !is404 && body.length > 0;
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i.test(contentType ?? "");
}

function parseJson(contentType: string | undefined, body: Buffer): unknown {
  if (!isJson(contentType)) {
    throw new ApiError(415, "the content type must be application/json");
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(strictUtf8.decode(body));
  } catch {
    throw new ApiError(400, "body: is not well-formed JSON");
  }
  if (isDeeperThan(parsed, deepestNesting)) throw new ApiError(400, `body: is nested deeper than ${deepestNesting}`);
  return parsed;
}

/** The search stops at the limit: a very deep value would overflow the stack. */
function isDeeperThan(value: unknown, limit: number): boolean {
  if (limit < 0) return true;
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((inner) => isDeeperThan(inner, limit - 1));
}
