/** Makes the errors of the simulated control plane. */
import { statusOfRefusal } from "../../../src/sandbox/http/parts/refusal-status.ts";
import { ControlPlaneError, type ControlPlaneReason, type ControlPlaneSubject, meaningOf } from "../ports.ts";
import type { Refusal } from "./engine.ts";

/** The words that name a call to the control plane in its errors. */
export interface CallWords {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Completes "cannot …". */
  readonly purpose: string;
  readonly subject: ControlPlaneSubject;
}

const reasons: Readonly<Record<number, ControlPlaneReason>> = {
  400: "Malformed",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  422: "Rejected",
  423: "Locked",
  429: "Throttled",
  503: "Unavailable",
};

/** The longest retry-after that a client accepts. */
const longestRetryAfterMs = 600_000;

/** Makes the error of a client whose call was answered with an error status. */
export function failureOfStatus(
  words: CallWords,
  status: number,
  { message, retryAfterSeconds }: { readonly message: string; readonly retryAfterSeconds?: number | undefined },
): ControlPlaneError {
  const reason = reasons[status] ?? "ServerError";
  const isUnknown = reason === "ServerError" && words.method !== "GET";
  const about = reason === "NotFound" ? subjectNamedBy(message, words.subject) : words.subject;
  return new ControlPlaneError(reason, `cannot ${words.purpose}: the control plane answered ${status}: ${message}`, {
    effect: isUnknown ? "Unknown" : "NotApplied",
    subject: about,
    retryAfterMs:
      retryAfterSeconds === undefined ? undefined : Math.min(longestRetryAfterMs, retryAfterSeconds * 1_000),
  });
}

/** Makes the error of a client whose request the engine has refused. */
export function failureOfRefusal(words: CallWords, { reason, message }: Refusal): ControlPlaneError {
  return failureOfStatus(words, statusOfRefusal[reason], { message });
}

/** Makes the error of a client that got no answer, or an answer that it cannot read. */
export function failureOfLoss(
  words: CallWords,
  reason: "TimedOut" | "ConnectionLost" | "Unreachable" | "UnreadableAnswer",
): ControlPlaneError {
  const isSent = reason !== "Unreachable" && words.method !== "GET";
  return new ControlPlaneError(reason, `cannot ${words.purpose}: no usable answer (${reason})`, {
    effect: isSent ? "Unknown" : "NotApplied",
    subject: words.subject,
  });
}

/** The error of a client to whom a proxy has answered with a page of its own. */
export function failureOfPage(words: CallWords, status: number): ControlPlaneError {
  if (status === 200) return failureOfLoss(words, "UnreadableAnswer");
  const { reason, writeEffect } = meaningOf(status, false);
  return new ControlPlaneError(reason, `cannot ${words.purpose}: the control plane answered ${status}`, {
    effect: words.method === "GET" ? "NotApplied" : writeEffect,
    subject: words.subject,
  });
}

function subjectNamedBy(message: string, fallback: ControlPlaneSubject): ControlPlaneSubject {
  const named = (["Project", "Branch", "Endpoint", "Operation"] as const).find((subject) =>
    message.toLowerCase().startsWith(subject.toLowerCase()),
  );
  return named ?? fallback;
}
