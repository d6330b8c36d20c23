import type { RefusalReason } from "../engine/refusal.ts";

/** A request that HTTP itself answers with an error: no state was changed. */
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

/** The status of each reason for which the engine refuses. */
export const statusOfRefusal: Readonly<Record<RefusalReason, number>> = {
  Invalid: 400,
  NotFound: 404,
  Conflict: 409,
  NotAllowed: 422,
  Locked: 423,
};

/** The same for a missing, a wrong and a revoked key. */
export const unauthenticatedMessage = "supplied credentials do not pass authentication";
