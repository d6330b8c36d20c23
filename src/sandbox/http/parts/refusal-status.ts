/** Maps the refusals of the engine to HTTP statuses. */
import type { RefusalReason } from "../../engine/refusal.ts";

export const statusOfRefusal: Readonly<Record<RefusalReason, number>> = {
  Invalid: 400,
  NotFound: 404,
  Conflict: 409,
  PreconditionFailed: 412,
  NotAllowed: 422,
  Locked: 423,
  NotPlayed: 501,
};
