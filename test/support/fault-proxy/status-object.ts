/** Makes `Status` objects of the API server. */

/** The fields of a `Status` of the API server. */
export interface StatusFields {
  readonly code: number;
  readonly reason: string;
  /** The seconds in `details`, after which the client may try again. */
  readonly retryAfterSeconds?: number;
}

/** Makes a failure in the form of the API server, for an answer or an ERROR event. */
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
