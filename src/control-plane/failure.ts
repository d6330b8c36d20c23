/** Makes errors from answers that cannot be used, and makes the texts of the control plane safe to show. */
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

export interface CallContext {
  readonly route: Route;
  /** The API key in use and the passwords of the project, each in every form that a text may show, such as in a URL. */
  readonly secrets: readonly string[];
}

type Answered = Extract<HttpOutcome, { readonly kind: "Answered" }>;

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
  const content = bodyEnd === "TooLarge" ? "a body that is too long or has too many entries" : cleanText(what, context);
  const message = `the control plane answered ${answer.status} with ${content}`;
  return fail("UnreadableAnswer", message, context, { effect: options.effect });
}

/** Returns the first kind that the message of the 404 names, else the one of the path. */
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

/** The messages of these errors of Node and undici contain addresses, so they would differ each time. */
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
 * @param isDocumented whether the body has the documented error shape. A proxy's 404 must never count as absence.
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

/** A condition message must not contain texts that differ from answer to answer. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "[id]"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "[time]"],
];

interface CleanTextOptions {
  /** See `formsOf`. @default [] */
  readonly secrets?: readonly string[];
  readonly maxLength?: number;
}

/** The result is much shorter, so it never holds the end of the searched text, where half a secret may stand. */
const longestRead = 65_536;

/** Returns one line of limited length without secrets, users of URLs, bearer tokens, request ids and times. */
export function cleanText(text: string, { secrets = [], maxLength = 300 }: CleanTextOptions = {}): string {
  const line = withoutSecrets(text.slice(0, longestRead).toWellFormed(), secrets)
    .replace(/\p{Cf}/gu, "")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  const cleaned = varying.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), line);
  return cleaned.length <= maxLength ? cleaned : `${cleaned.slice(0, maxLength - 1).toWellFormed()}…`;
}
