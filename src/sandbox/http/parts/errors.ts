import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hasZodFastifySchemaValidationErrors } from "fastify-type-provider-zod";
import type { Profile } from "../../engine/profile.ts";
import { Refusal } from "../../engine/refusal.ts";
import { statusOfRefusal } from "./refusal-status.ts";

/** An error answer of the HTTP layer. No state was changed. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly statusCode: number;
  readonly code: string;
  /** Seconds; becomes the header `Retry-After`. */
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

/** Where the documentation lists what the sandbox does not play. */
export const notPlayedSection = "docs/sandbox.md#not-played";

/** The same for a missing, a wrong and a revoked key. */
export const unauthenticatedMessage = "supplied credentials do not pass authentication";

/** Answers every error in the one shape. `onBug` gets what should never happen, and is answered with 500. */
export function answerErrors(app: FastifyInstance, onBug: (error: unknown) => void): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const answer = answerTo(error);
    // A refusal, and a 5xx that a fault asked for, are meant; any other 5xx is a bug of the sandbox.
    const isMeant = answer === (error as unknown) || (error as unknown) instanceof Refusal;
    if (answer.statusCode >= 500 && !isMeant) onBug(error);
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

/** What a DELETE does. */
export interface Deletion<B> {
  /** @throws Refusal */
  readonly remove: () => B;
  /** Throws when what holds the object is itself missing: that stays an error in every profile. */
  readonly requireParent: () => unknown;
}

/** Deletes and answers; of what is not there, as the profile says. */
export function answerDelete<B>(reply: FastifyReply, profile: Profile, { remove, requireParent }: Deletion<B>) {
  try {
    return reply.send(remove());
  } catch (error) {
    const isMissing = error instanceof Refusal && error.reason === "NotFound";
    if (!isMissing || profile.deleteOfMissing === 404) throw error;
    requireParent();
    return reply.code(204).send();
  }
}
