/** Makes errors from answers of the API server, and from requests without an answer. */
import { LeaderFenceError } from "../../domain/leader-fence.ts";
import { KubernetesError, type KubernetesReason } from "../../domain/resource-store.ts";
import { type AnswerHead, type HttpOutcome, parseRetryAfter } from "../../http/exchange.ts";

/** What the operator reads from a `Status`, the API server's answer to a failed call. A missing field is empty. */
export interface StatusAnswer {
  readonly code: number;
  /** Whether the body is a `Status`. A proxy in front of the API server may answer with a page of its own. */
  readonly isOfApiServer: boolean;
  readonly reason: string;
  readonly message: string;
  readonly retryAfterMs: number | undefined;
  readonly fields: readonly string[];
}

const maxMessageLength = 512;

export function parseStatusAnswer(code: number, body: unknown, head?: AnswerHead): StatusAnswer {
  const status = asObject(body);
  const details = asObject(status.details);
  const causes = Array.isArray(details.causes) ? details.causes : [];
  const retryAfterMs = Number(details.retryAfterSeconds) * 1_000 || parseRetryAfter(head?.retryAfter);
  return {
    code: code === 200 ? Number(status.code ?? 500) : code,
    isOfApiServer: status.kind === "Status",
    reason: asText(status.reason),
    message: asText(status.message).replaceAll(/\s+/g, " ").slice(0, maxMessageLength),
    retryAfterMs: retryAfterMs !== undefined && retryAfterMs > 0 ? retryAfterMs : undefined,
    fields: causes.map((cause) => asText(asObject(cause).field)),
  };
}

/** @param what the call in words, for instance `patch ComputeEndpoint shop/orders` */
export function errorForStatus(what: string, status: StatusAnswer, isWrite = false): KubernetesError {
  const reason = isWrite && isRefusal(status) ? "WriteRefused" : reasonFor(status);
  return new KubernetesError(reason, `cannot ${what}: ${explain(reason, status)}`, {
    retryAfterMs: status.retryAfterMs,
  });
}

/**
 * Whether the API server refuses a write because of its content. Admission and quota answer 403, as a missing right does;
 * only the message tells them apart. The API server writes the message of a missing right itself.
 */
function isRefusal(status: StatusAnswer): boolean {
  return status.code === 403
    ? status.isOfApiServer && !/^\S*( "[^"]*")? is forbidden: User "[^"]*" cannot /.test(status.message)
    : reasonFor(status) === "Invalid";
}

function reasonFor(status: StatusAnswer): KubernetesReason {
  // The patch named the uid of a deleted object, and another object has the name now. The API server refuses the patch
  // like a change of the uid.
  if (status.code === 422 && status.fields.includes("metadata.uid")) {
    return "Conflict";
  }
  if (status.reason === "Expired" || status.reason === "Gone") {
    return "Expired";
  }
  if (status.code === 404 && !status.isOfApiServer) {
    return "NotServed";
  }
  const others = status.code >= 500 ? "Unavailable" : status.code >= 400 ? "Invalid" : "UnreadableAnswer";
  return reasonByCode[status.code] ?? others;
}

const reasonByCode: Readonly<Record<number, KubernetesReason>> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  408: "TimedOut",
  409: "Conflict",
  410: "Expired",
  429: "Throttled",
  504: "TimedOut",
};

const explanations: Readonly<Partial<Record<KubernetesReason, string>>> = {
  Conflict: "it has changed or is another object by now",
  NotFound: "it does not exist",
  NotServed: "the API server does not serve its kind, or a proxy answered in its place (404)",
  Expired: "that resourceVersion is too old",
  Unauthorized: "the API server does not accept the credentials",
};

function explain(reason: KubernetesReason, { message, code }: StatusAnswer): string {
  // Only these reasons show the API server's message: it names the missing permission or the wrong field.
  const isShown = reason === "Forbidden" || reason === "Invalid" || reason === "WriteRefused";
  return explanations[reason] ?? (isShown && message !== "" ? message : `the API server answered ${code}`);
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

class AnswerTooLongError extends Error {}

export function isTooLong(error: unknown): boolean {
  return error instanceof KubernetesError && error.cause instanceof AnswerTooLongError;
}

export function unreadableAnswer(what: string, why: string, cause?: unknown): KubernetesError {
  return new KubernetesError("UnreadableAnswer", `cannot ${what}: the answer is ${why}`, { cause });
}

export function errorForOutcome(what: string, outcome: HttpOutcome): KubernetesError | LeaderFenceError {
  const isAnswered = outcome.kind === "Answered";
  if (isAnswered && outcome.bodyEnd === "TooLarge") {
    return unreadableAnswer(what, "longer than the limit", new AnswerTooLongError());
  }
  return errorForTransport(what, outcome.cause, isAnswered ? outcome.bodyEnd === "TimedOut" : outcome.timedOut);
}

/** A KubernetesError or LeaderFenceError is returned unchanged. @param isTimedOut whether the call took too long */
export function errorForTransport(
  what: string,
  error: unknown,
  isTimedOut: boolean,
): KubernetesError | LeaderFenceError {
  if (error instanceof KubernetesError || error instanceof LeaderFenceError) {
    return error;
  }
  if (isTimedOut) {
    return new KubernetesError("TimedOut", `cannot ${what}: no answer in time`, { cause: error });
  }
  const code = codeOf(error);
  const why = code === undefined ? "" : ` (${code})`;
  return new KubernetesError("Unavailable", `cannot ${what}: the API server cannot be reached${why}`, { cause: error });
}

/** @returns `undefined` if the API server answered that the object does not exist */
export async function undefinedIfNotFound<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof KubernetesError && error.reason === "NotFound") {
      return undefined;
    }
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: unknown };
  const deeper = cause === undefined ? undefined : codeOf(cause);
  return typeof code === "string" ? code : deeper;
}
