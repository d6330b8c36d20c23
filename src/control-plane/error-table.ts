import type { ControlPlaneEffect, ControlPlaneReason } from "../domain/control-plane-error.ts";

/** What an error status means. */
export interface StatusMeaning {
  readonly reason: ControlPlaneReason;
  /** Whether a write answered with this status may have been applied. */
  readonly writeEffect: ControlPlaneEffect;
}

const notApplied = (reason: ControlPlaneReason): StatusMeaning => ({ reason, writeEffect: "NotApplied" });
const unknownEffect = (reason: ControlPlaneReason): StatusMeaning => ({ reason, writeEffect: "Unknown" });

/** Statuses whose meaning does not depend on the body, even if a proxy sent it. */
const byStatus: ReadonlyMap<number, StatusMeaning> = new Map([
  [400, notApplied("Malformed")],
  [401, notApplied("Unauthorized")],
  [403, notApplied("Forbidden")],
  // A proxy answers 408 when no whole request arrived in time; it may have forwarded a part.
  [408, unknownEffect("TimedOut")],
  [409, notApplied("Conflict")],
  [412, notApplied("PreconditionFailed")],
  [422, notApplied("Rejected")],
  [423, notApplied("Locked")],
  [429, notApplied("Throttled")],
  [503, notApplied("Unavailable")],
]);

/**
 * The table of errors: HTTP status → reason, and effect on a write.
 *
 * @param status any status but 2xx.
 * @param isDocumented whether the body has the documented error shape. It decides about 404 (a proxy's page for a
 *   wrong path must never count as absence) and about undocumented statuses.
 * @see docs/control-plane.md, "Errors" (API v2, read 2026-08 to 2026-11)
 */
export function meaningOf(status: number, isDocumented: boolean): StatusMeaning {
  const fixed = byStatus.get(status);
  if (fixed !== undefined) {
    return fixed;
  }
  if (status >= 500 && status <= 599) {
    return unknownEffect("ServerError");
  }
  if (isDocumented && status >= 400 && status <= 499) {
    return notApplied(status === 404 ? "NotFound" : "Rejected");
  }
  return unknownEffect("UnreadableAnswer");
}
