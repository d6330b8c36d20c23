/** What a `Status` of the API server says. */
export interface StatusFields {
  readonly code: number;
  readonly reason: string;
  /** In `details`, in seconds. */
  readonly retryAfterSeconds?: number;
}

/** A failure as the API server writes it, in an answer or in an ERROR event. */
export function statusObject({ code, reason, retryAfterSeconds }: StatusFields): object {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `injected ${code}`,
    reason,
    code,
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
  };
}
