import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError } from "./parts/errors.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route takes no body: whatever comes is dropped, of whatever type. */
    ignoresBody?: boolean;
  }
  interface FastifyRequest {
    /** What the client said, before fastify had a chance to refuse it. */
    sentContentType: string | undefined;
    /** The body as it came; `undefined`: none, or not read. */
    sentBody: Buffer | undefined;
  }
}

/** Largest body, in bytes. */
export const bodyLimit = 256 * 1024;

const deepestNesting = 32;

/** Making one costs more than decoding a body; between whole bodies it keeps nothing. */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads bodies by rules of our own: a call without a body may carry any content type, every other body is JSON.
 *
 * Errors while reading: 400 malformed or too deep, 413 too large, 415 not JSON.
 */
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
    // fastify answers 415 to a type it cannot parse, body or not; this one it can, and the parser knows the real one.
    if (headers["content-type"] !== undefined) headers["content-type"] = "application/octet-stream";
    done();
  });
}

function isWanted({ routeOptions, is404, method, sentContentType }: FastifyRequest, body: Buffer): boolean {
  // No DELETE needs a body. One that claims to be JSON is checked, any other is ignored.
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

/** Looks no deeper than the limit, for a body may be nested deeper than the stack. */
function isDeeperThan(value: unknown, limit: number): boolean {
  if (limit < 0) return true;
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((inner) => isDeeperThan(inner, limit - 1));
}
