/**
 * Makes a `ControlPlaneError` from an answer that cannot be used, or from a request without an answer. It also makes the
 * texts of the control plane safe to show.
 */
import {
  type ControlPlaneEffect,
  ControlPlaneError,
  type ControlPlaneErrorOptions,
  type ControlPlaneReason,
  type ControlPlaneSubject,
} from "../domain/control-plane-error.ts";
import { withoutSecrets } from "../domain/without-secrets.ts";
import { type HttpOutcome, parseJson, parseRetryAfter } from "../http/exchange.ts";
import type { Route } from "./routes.ts";
import { wireError } from "./wire.ts";

/** The route of the failed call, and the secrets that its message must not show. */
export interface CallContext {
  readonly route: Route;
  /** The API key in use and the passwords of the project, each in every form that a text may show, such as in a URL. */
  readonly secrets: readonly string[];
}

type Answered = Extract<HttpOutcome, { readonly kind: "Answered" }>;

/** Makes the error for a request without an answer: never sent, or lost after sending. */
export function failureOfNoAnswer(outcome: Exclude<HttpOutcome, Answered>, context: CallContext): ControlPlaneError {
  if (outcome.kind === "NotSent") {
    const why = outcome.timedOut ? "no connection in time" : connectFailure(outcome.cause);
    return fail("Unreachable", `the control plane cannot be reached: ${why}`, context, {
      effect: "NotApplied",
      cause: outcome.cause,
    });
  }
  const effect = effectOfLoss(context.route);
  return outcome.timedOut
    ? fail("TimedOut", "no answer in time", context, { effect, cause: outcome.cause })
    : fail("ConnectionLost", "the connection broke before the answer", context, { effect, cause: outcome.cause });
}

/** Makes the error for an answer with a status other than 2xx. */
export function failureOfStatus(answer: Answered, context: CallContext): ControlPlaneError {
  const documented = documentedError(answer);
  const { reason, writeEffect } = meaningOf(answer.status, documented !== undefined);
  const words = documented === undefined ? undefined : wordsOf(documented, context);
  return fail(reason, `the control plane answered ${answer.status}${words ?? unexplained(reason)}`, context, {
    effect: context.route.method === "GET" ? "NotApplied" : writeEffect,
    retryAfterMs: parseRetryAfter(answer.retryAfter, answer.date),
    subject:
      reason === "NotFound" ? subjectOf(documented?.message ?? "", context.route.subject) : context.route.subject,
  });
}

/** Makes the error for a 2xx answer without usable content. A write may still have been applied. */
export function failureOfContent(answer: Answered, what: string, context: CallContext): ControlPlaneError {
  const { bodyEnd, cause } = answer;
  const options = { effect: effectOfLoss(context.route), cause };
  if (bodyEnd === "TimedOut") {
    return fail("TimedOut", "the answer did not end in time", context, options);
  }
  if (bodyEnd === "ConnectionLost") {
    return fail("ConnectionLost", "the connection broke in the middle of the answer", context, options);
  }
  const content = bodyEnd === "TooLarge" ? "a body that is too long" : cleanText(what, context);
  const message = `the control plane answered ${answer.status} with ${content}`;
  return fail("UnreadableAnswer", message, context, { effect: options.effect });
}

/**
 * Returns the kind of object that is absent: the first one that the message of the 404 names, else the one of the path.
 */
function subjectOf(message: string, fallback: ControlPlaneSubject): ControlPlaneSubject {
  const named = /\b(project|branch|endpoint|operation|role|database)s?\b/i.exec(message)?.[1]?.toLowerCase();
  return subjects.find((subject) => subject.toLowerCase() === named) ?? fallback;
}

const subjects: readonly ControlPlaneSubject[] = ["Project", "Branch", "Endpoint", "Operation", "Role", "Database"];

function fail(
  reason: ControlPlaneReason,
  why: string,
  context: CallContext,
  options: ControlPlaneErrorOptions,
): ControlPlaneError {
  return new ControlPlaneError(reason, `cannot ${context.route.purpose}: ${why}`, {
    subject: context.route.subject,
    ...options,
  });
}

function effectOfLoss(route: Route): "NotApplied" | "Unknown" {
  return route.method === "GET" ? "NotApplied" : "Unknown";
}

function documentedError(answer: Answered) {
  const json = answer.bodyEnd === "Complete" ? parseJson(answer.body) : undefined;
  const parsed = json === undefined ? undefined : wireError.safeParse(json.value);
  return parsed?.success === true ? parsed.data : undefined;
}

function wordsOf(error: { readonly code: string; readonly message: string }, { secrets }: CallContext): string {
  const code = cleanText(error.code, { secrets, maxLength: 100 });
  const message = cleanText(error.message, { secrets });
  return [code === "" ? "" : ` (${code})`, message === "" ? "" : `: ${message}`].join("");
}

function unexplained(reason: ControlPlaneReason): string {
  return reason === "UnreadableAnswer" ? ", not in the documented form" : " without an explanation";
}

/**
 * Error codes of Node and undici, in words. The messages of these errors contain addresses, so they would differ each
 * time.
 */
const connectFailures: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "connection refused"],
  ["ENOTFOUND", "no such host"],
  [
    "ERR_NEARBY_ADDRESS",
    "the host name leads to this machine or link; an administrator of the cluster can allow it in TENANT_CONTROL_PLANE_HOSTS",
  ],
  ["EAI_AGAIN", "the host name cannot be looked up now"],
  ["EHOSTUNREACH", "no route to the host"],
  ["ENETUNREACH", "no route to the network"],
  ["ECONNRESET", "the connection was closed while it was being set up"],
  ["UND_ERR_SOCKET", "the connection was closed while it was being set up"],
]);

function connectFailure(cause: unknown): string {
  const code = (cause as { readonly code?: unknown } | undefined)?.code;
  return typeof code === "string" ? (connectFailures.get(code) ?? `connection failed (${code})`) : "connection failed";
}

interface StatusMeaning {
  readonly reason: ControlPlaneReason;
  /** Whether a write with this answer may have been applied. */
  readonly writeEffect: ControlPlaneEffect;
}

const notApplied = (reason: ControlPlaneReason): StatusMeaning => ({ reason, writeEffect: "NotApplied" });
const unknownEffect = (reason: ControlPlaneReason): StatusMeaning => ({ reason, writeEffect: "Unknown" });

/** Statuses whose meaning does not depend on the body, even if a proxy sent it. */
const byStatus: ReadonlyMap<number, StatusMeaning> = new Map([
  [400, notApplied("Malformed")],
  [401, notApplied("Unauthorized")],
  [403, notApplied("Forbidden")],
  // A proxy answers 408 if the request did not arrive in time. It may have forwarded a part of the request.
  [408, unknownEffect("TimedOut")],
  [409, notApplied("Conflict")],
  [412, notApplied("PreconditionFailed")],
  [422, notApplied("Rejected")],
  [423, notApplied("Locked")],
  [429, notApplied("Throttled")],
  [503, notApplied("Unavailable")],
]);

/**
 * Returns the reason and the effect on a write for an HTTP status.
 * @param status any status but 2xx.
 * @param isDocumented whether the body has the documented error shape. It matters for undocumented statuses and for
 *   404: a proxy's page for a wrong path must never count as absence.
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

/** The maximum number of characters in which the patterns search. */
const longestInspected = 4_000;

/**
 * Texts that differ from answer to answer, such as request ids and times. A condition message must not contain them.
 */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "[id]"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "[time]"],
];

interface CleanTextOptions {
  /** Forms of secrets in use, see `formsOf`. They are removed from the text. @default [] */
  readonly secrets?: readonly string[];
  /** The maximum length of the result, in characters. @default 300 */
  readonly maxLength?: number;
}

/**
 * Cleans a text of another program for a status, an event or a log.
 * The result is one line of limited length. It contains nothing that is or looks like a key, a token, a password or a
 * connection string, and no request ids or times. The time for it grows linearly with the length of the text.
 */
export function cleanText(text: string, options: CleanTextOptions = {}): string {
  const { secrets = [], maxLength = 300 } = options;
  // Known secrets are removed before the text is cut, because half a key would not be recognised.
  const unnamed = secrets.reduce(
    (rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, "[redacted]")),
    text.toWellFormed(),
  );
  const line = cutAtWord(unnamed, 4 * longestInspected)
    .replace(/\p{Cf}/gu, "")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  const cleaned = varying
    .reduce(
      (rest, [pattern, replacement]) => rest.replace(pattern, replacement),
      withoutSecrets(cutAtWord(line, longestInspected)),
    )
    .replace(/[\w+/=-]{32,}/g, (run) => (mayBeKey(run) ? "[redacted]" : run));
  return cleaned.length <= maxLength ? cleaned : `${cleaned.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** Whether a long run of characters may be a key, because it has letters and digits. The caller checks the length. */
function mayBeKey(run: string): boolean {
  return /\d/.test(run) && /[a-z]/i.test(run);
}

/**
 * Cuts a text at a word boundary, because half a secret would not be recognised. A first word that is longer than the
 * limit is left out.
 */
function cutAtWord(text: string, length: number): string {
  if (text.length <= length) {
    return text;
  }
  let end = length;
  while (end > 0 && !/\s/.test(text.charAt(end - 1))) {
    end -= 1;
  }
  return text.slice(0, end);
}
