/** Makes errors from answers that cannot be used, and makes the texts of the control plane safe to show. */
import {
  type ControlPlaneEffect,
  ControlPlaneError,
  type ControlPlaneErrorOptions,
  type ControlPlaneReason,
  type ControlPlaneSubject,
} from "../domain/control-plane-error.ts";
import { withoutSecrets } from "../domain/without-secrets.ts";
import { type Answered, type HttpOutcome, parseJson, parseRetryAfter } from "../http/exchange.ts";
import { isWrite, type RequestWords } from "./call.ts";
import { errorBody } from "./wire.ts";

/** Removes secrets from a text of the control plane, and shortens it. @param maxLength see `cleanText` */
export type Clean = (text: string, maxLength?: number) => string;

/** @param isTimedOut whether the deadline ended the request, and not the connection */
export function failureOfNoAnswer(outcome: HttpOutcome, request: RequestWords, isTimedOut: boolean): ControlPlaneError {
  const { cause } = outcome;
  if (outcome.kind === "NotSent") {
    const why = isTimedOut ? "no connection in time" : connectFailure(cause);
    return fail(request, ["Unreachable", `the control plane cannot be reached: ${why}`], {
      effect: "NotApplied",
      cause,
    });
  }
  return isTimedOut
    ? unusable(request, ["TimedOut", "no complete answer in time"], cause)
    : unusable(request, ["ConnectionLost", "the connection broke before the answer was complete"], cause);
}

export function failureOfStatus(answer: Answered, request: RequestWords, clean: Clean): ControlPlaneError {
  const documented = documentedError(answer);
  const { reason, writeEffect } = meaningOf(answer.status, documented !== undefined);
  const words = documented === undefined ? unexplained(reason) : wordsOf(documented, clean) || unexplained(reason);
  return fail(request, [reason, `the control plane answered ${answer.status}${words}`], {
    effect: isWrite(request) ? writeEffect : "NotApplied",
    status: answer.status,
    retryAfterMs: parseRetryAfter(answer.retryAfter),
    subject: reason === "NotFound" ? subjectOf(documented?.message ?? "", request.subject) : request.subject,
  });
}

export function failureOfContent(status: number, request: RequestWords, content: string): ControlPlaneError {
  return unusable(request, ["UnreadableAnswer", `the control plane answered ${status} with ${content}`]);
}

/** Returns the first kind that the message of the 404 names, else the one of the path. */
function subjectOf(message: string, fallback: ControlPlaneSubject): ControlPlaneSubject {
  const named = /\b(project|branch|endpoint|operation|role|database)s?\b/i.exec(message)?.[1]?.toLowerCase();
  return named === undefined ? fallback : ((named[0]?.toUpperCase() + named.slice(1)) as ControlPlaneSubject);
}

type Why = readonly [reason: ControlPlaneReason, why: string];

/** The request was sent, and no usable answer came: a write may have been applied. */
function unusable(request: RequestWords, why: Why, cause?: unknown): ControlPlaneError {
  return fail(request, why, { effect: isWrite(request) ? "Unknown" : "NotApplied", cause });
}

function fail({ purpose, subject }: RequestWords, [reason, why]: Why, options: ControlPlaneErrorOptions) {
  return new ControlPlaneError(reason, `cannot ${purpose}: ${why}`, { subject, ...options });
}

function documentedError(answer: Answered) {
  const json = answer.bodyEnd === "Complete" ? parseJson(answer.body) : undefined;
  const parsed = json === undefined ? undefined : errorBody.safeParse(json.value);
  return parsed?.success === true ? parsed.data : undefined;
}

function wordsOf(error: { readonly code: string; readonly message: string }, clean: Clean): string {
  const [code, message] = [clean(error.code, 100), clean(error.message)];
  return [code === "" ? "" : ` (${code})`, message === "" ? "" : `: ${message}`].join("");
}

function unexplained(reason: ControlPlaneReason): string {
  return reason === "UnreadableAnswer" ? ", not in the documented form" : " without an explanation";
}

const nearby =
  "the host name leads to this machine or link; an administrator of the cluster can allow it in TENANT_CONTROL_PLANE_HOSTS";

/** The messages of Node and undici contain addresses, so they would differ each time. */
function connectFailure(cause: unknown): string {
  const code = (cause as { readonly code?: unknown } | undefined)?.code;
  return code === "ERR_NEARBY_ADDRESS" ? nearby : `connection failed${typeof code === "string" ? ` (${code})` : ""}`;
}

/** Statuses whose meaning does not depend on the body, even if a proxy sent it. None of them was applied but 408. */
const byStatus: ReadonlyMap<number, ControlPlaneReason> = new Map([
  [400, "Malformed"],
  [401, "Unauthorized"],
  [403, "Forbidden"],
  // A proxy answers 408 if the request did not arrive in time. It may have forwarded a part of the request.
  [408, "TimedOut"],
  [409, "Conflict"],
  [412, "PreconditionFailed"],
  [422, "Rejected"],
  [423, "Locked"],
  [429, "Throttled"],
  [503, "Unavailable"],
]);

/**
 * @param isDocumented whether the body has the documented error shape. A proxy's 404 must never count as absence.
 * @returns the reason, and whether a write with this answer may have been applied
 * @see docs/control-plane.md, "Errors" (API v2, read 2026-08 to 2026-11)
 */
export function meaningOf(
  status: number,
  isDocumented: boolean,
): { readonly reason: ControlPlaneReason; readonly writeEffect: ControlPlaneEffect } {
  const fixed = byStatus.get(status);
  if (fixed !== undefined) {
    return { reason: fixed, writeEffect: fixed === "TimedOut" ? "Unknown" : "NotApplied" };
  }
  if (isDocumented && status >= 400 && status <= 499) {
    return { reason: status === 404 ? "NotFound" : "Rejected", writeEffect: "NotApplied" };
  }
  const isServerError = status >= 500 && status <= 599;
  return { reason: isServerError ? "ServerError" : "UnreadableAnswer", writeEffect: "Unknown" };
}

/** A condition message must not contain texts that differ from answer to answer. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "[id]"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "[time]"],
];

/** The result is much shorter, so it never holds the end of the searched text, where half a secret may stand. */
const longestRead = 65_536;

/**
 * Returns one line of limited length without secrets, users of URLs, bearer tokens, request ids and times.
 * @param secrets see `formsOf`
 */
export function cleanText(text: string, secrets: readonly string[] = [], maxLength = 300): string {
  const line = withoutSecrets(text.slice(0, longestRead).toWellFormed(), secrets)
    .replace(/\p{Cf}/gu, "")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  const cleaned = varying.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), line);
  return cleaned.length <= maxLength ? cleaned : `${cleaned.slice(0, maxLength - 1).toWellFormed()}…`;
}
