/** Answers every error of a request in the one form of the API. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hasZodFastifySchemaValidationErrors } from "fastify-type-provider-zod";
import { Refusal } from "../../engine/refusal.ts";
import { statusOfRefusal } from "./refusal-status.ts";

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly statusCode: number;
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    statusCode: number,
    message: string,
    options: { code?: string; retryAfterSeconds?: number | undefined } = {},
  ) {
    super(message);
    this.statusCode = statusCode;
    this.code = options.code ?? "";
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

export const notPlayedSection = "docs/sandbox.md#not-played";

/** The message of a 401. It is the same for a missing, a wrong and a revoked key. */
export const unauthenticatedMessage = "supplied credentials do not pass authentication";

/** Answers every error in the same form. An unexpected error is passed to `onBug` and answered with 500. */
export function answerErrors(app: FastifyInstance, onBug: (error: unknown) => void): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const answer = answerTo(error);
    // A refusal is intended, and so is a 5xx that a fault asked for. Any other 5xx is a bug of the sandbox.
    const isMeant = answer === (error as unknown) || (error as unknown) instanceof Refusal;
    if (answer.statusCode >= 500 && !isMeant) onBug(error);
    return sendError(request, reply, answer);
  });
  app.setNotFoundHandler((request, reply) => sendError(request, reply, new ApiError(404, "this route does not exist")));
}

/** Sends an error. `request_id` is the client's `X-Request-ID`, or a random id. */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: ApiError): FastifyReply {
  if (error.retryAfterSeconds !== undefined) reply.header("retry-after", String(error.retryAfterSeconds));
  // The answer is written as text, because a request without a route has no response schema.
  return reply
    .code(error.statusCode)
    .header("content-type", "application/json; charset=utf-8")
    .serializer((body: unknown) => JSON.stringify(body))
    .send({ request_id: request.id, code: error.code, message: error.message });
}

/** An error that is none of these becomes 500 with the message `internal error`. */
export function answerTo(error: FastifyError): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Refusal) return new ApiError(statusOfRefusal[error.reason], error.message, { code: error.code });
  if (hasZodFastifySchemaValidationErrors(error)) return new ApiError(400, validationMessage(error));
  const { statusCode = 500, message } = error;
  return statusCode >= 400 && statusCode < 500
    ? new ApiError(statusCode, message)
    : new ApiError(500, "internal error");
}

function validationMessage(error: FastifyError): string {
  const problems = (error.validation ?? []).map(({ instancePath = "", message = "is not valid" }) => {
    const field = instancePath.replace(/^\//, "").replaceAll("/", ".");
    return `${field === "" ? (error.validationContext ?? "body") : field}: ${message}`;
  });
  return [...new Set(problems)].join("; ");
}
