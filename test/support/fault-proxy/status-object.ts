/** Makes `Status` objects of the API server. */

/** The fields of a `Status` of the API server. */
export interface StatusFields {
  readonly code: number;
  readonly reason: string;
  /** The seconds in `details`. */
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
