import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hasZodFastifySchemaValidationErrors } from "fastify-type-provider-zod";
import { Refusal } from "../engine/refusal.ts";
import { ApiError, statusOfRefusal } from "./api-error.ts";

/** Answers every error in the one shape. `onBug` gets what should never happen, and is answered with 500. */
export function answerErrors(app: FastifyInstance, onBug: (error: unknown) => void): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const answer = answerTo(error);
    // A 5xx that a fault asked for is an ApiError already; anything else is ours.
    if (answer.statusCode >= 500 && answer !== (error as unknown)) onBug(error);
    return sendError(request, reply, answer);
  });
  app.setNotFoundHandler((request, reply) => sendError(request, reply, new ApiError(404, "this route does not exist")));
}

/** Sends an error in the one shape. `request_id` is the client's own, or made up. */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: ApiError): FastifyReply {
  if (error.retryAfterSeconds !== undefined) reply.header("retry-after", String(error.retryAfterSeconds));
  // Written as text: an answer to a route that never came to be has no schema to be written by.
  return reply
    .code(error.statusCode)
    .header("content-type", "application/json; charset=utf-8")
    .serializer((body: unknown) => JSON.stringify(body))
    .send({ request_id: request.id, code: error.code, message: error.message });
}

/** The answer to an error that was thrown on the way. */
export function answerTo(error: FastifyError): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Refusal) return new ApiError(statusOfRefusal[error.reason], error.message, { code: error.code });
  if (hasZodFastifySchemaValidationErrors(error)) return new ApiError(400, validationMessage(error));
  const { statusCode = 500, message } = error;
  return statusCode >= 400 && statusCode < 500
    ? new ApiError(statusCode, message)
    : new ApiError(500, "internal error");
}

/** `endpoint.type: expected …; endpoint.branch_id: …`: every wrong field by its name. */
function validationMessage(error: FastifyError): string {
  const problems = (error.validation ?? []).map(({ instancePath = "", message = "is not valid" }) => {
    const field = instancePath.replace(/^\//, "").replaceAll("/", ".");
    return `${field === "" ? (error.validationContext ?? "body") : field}: ${message}`;
  });
  return [...new Set(problems)].join("; ");
}
