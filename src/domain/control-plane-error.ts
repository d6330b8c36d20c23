/** Why a control-plane call gave no usable answer. A closed set: it is also the metric label. */
export type ControlPlaneReason =
  | "Malformed" // 400: the body was refused
  | "Unauthorized" // 401: or nothing was sent, because the operator has no usable key
  | "Forbidden" // 403: the key lacks a permission
  | "NotFound" // 404 in the documented error shape
  | "Conflict" // 409: a read-write endpoint exists already
  | "PreconditionFailed" // 412: the project does not store passwords
  | "Rejected" // 422, or another 4xx in the documented shape: a limit, or a state that does not allow it
  | "Locked" // 423: the project is busy
  | "Throttled" // 429; or nothing was sent, because of an earlier 429 or the operator's own request budget
  | "Unavailable" // 503: safe to send again
  | "ServerError" // any other 5xx
  | "Unreachable" // nothing was sent: refused, no such host, TLS, no connection in time
  | "TimedOut" // the deadline passed after sending, or 408
  | "ConnectionLost" // the connection broke after sending
  | "UnreadableAnswer"; // HTML, truncated JSON, wrong types, a body that is too long, an undocumented status

/** Whether a failed write may have taken effect. `Unknown`: the caller must observe before it does anything else. */
export type ControlPlaneEffect = "NotApplied" | "Unknown";

export interface ControlPlaneErrorOptions {
  readonly effect: ControlPlaneEffect;
  readonly retryAfterMs?: number | undefined;
  /** What the call was about. A 404 about a project has another meaning than a 404 about a branch. @default undefined */
  readonly subject?: ControlPlaneSubject | undefined;
  readonly status?: number | undefined;
  readonly cause?: unknown;
}

export type ControlPlaneSubject = "Project" | "Branch" | "Endpoint" | "Operation" | "Role" | "Database";

/** The message is one line and the same in every reconcile: no request ids, times, headers or secrets. */
export class ControlPlaneError extends Error {
  override readonly name = "ControlPlaneError";
  readonly reason: ControlPlaneReason;
  readonly effect: ControlPlaneEffect;
  readonly retryAfterMs: number | undefined;
  readonly subject: ControlPlaneSubject | undefined;
  readonly status: number | undefined;

  constructor(reason: ControlPlaneReason, message: string, options: ControlPlaneErrorOptions) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.effect = options.effect;
    this.retryAfterMs = options.retryAfterMs;
    this.subject = options.subject;
    this.status = options.status;
  }
}
