import { KubernetesError, type KubernetesReason } from "../domain/resource-store.ts";

/** The parts of a `Status` object of the API server that we believe. Every field may be missing. */
export interface StatusAnswer {
  readonly code: number;
  /** For instance `NotFound` or `Expired`; "" when it does not say. */
  readonly reason: string;
  /** One line, bounded. */
  readonly message: string;
  readonly retryAfterMs: number | undefined;
  /** Fields that a 422 complains about. */
  readonly fields: readonly string[];
}

const maxMessageLength = 512;

/**
 * Reads a `Status` object, or whatever stands in its place.
 *
 * @param code of the HTTP answer; the body's own code is used when this is 200 (an ERROR event of a watch).
 * @param retryAfter the header, in seconds.
 */
export function parseStatusAnswer(code: number, body: unknown, retryAfter?: string): StatusAnswer {
  const status = asObject(body);
  const details = asObject(status.details);
  const causes = Array.isArray(details.causes) ? details.causes : [];
  const retryAfterSeconds = Number(details.retryAfterSeconds ?? retryAfter);
  return {
    code: code === 200 ? Number(status.code ?? 500) : code,
    reason: asText(status.reason),
    message: asText(status.message).replaceAll(/\s+/g, " ").slice(0, maxMessageLength),
    retryAfterMs: retryAfterSeconds > 0 ? retryAfterSeconds * 1000 : undefined,
    fields: causes.map((cause) => asText(asObject(cause).field)),
  };
}

/**
 * The error for an answer that is not a success.
 *
 * @param what the call in words, for instance `patch ComputeEndpoint shop/orders`.
 */
export function errorForStatus(what: string, status: StatusAnswer): KubernetesError {
  const reason = reasonFor(status);
  return new KubernetesError(reason, `cannot ${what}: ${explain(reason, status)}`, {
    retryAfterMs: status.retryAfterMs,
  });
}

function reasonFor(status: StatusAnswer): KubernetesReason {
  // A patch that names another uid is refused as an attempt to change it: the object is not the one we know.
  if (status.code === 422 && status.fields.includes("metadata.uid")) {
    return "Conflict";
  }
  if (status.reason === "Expired" || status.reason === "Gone") {
    return "Expired";
  }
  const known = reasonByCode.get(status.code);
  if (known !== undefined) {
    return known;
  }
  if (status.code >= 500) {
    return "Unavailable";
  }
  return status.code >= 400 ? "Invalid" : "UnreadableAnswer";
}

const reasonByCode: ReadonlyMap<number, KubernetesReason> = new Map([
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "NotFound"],
  [408, "TimedOut"],
  [409, "Conflict"],
  [410, "Expired"],
  [429, "Throttled"],
  [504, "TimedOut"],
]);

function explain(reason: KubernetesReason, status: StatusAnswer): string {
  switch (reason) {
    case "Conflict":
      return "it has changed or is another object by now";
    case "NotFound":
      return "it does not exist";
    case "Expired":
      return "that resourceVersion is too old";
    case "Unauthorized":
      return "the API server does not accept our credentials";
    // The server's own sentence names the missing permission or the bad field, and nothing else helps a person here.
    case "Forbidden":
    case "Invalid":
      return status.message === "" ? `the API server answered ${status.code}` : status.message;
    default:
      return `the API server answered ${status.code}`;
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
