/** Makes the errors of the simulated control plane, with the code of the operator's HTTP client. */
import { statusOfRefusal } from "../../../src/sandbox/http/parts/refusal-status.ts";
import type { Loss } from "../network/exchange.ts";
import {
  type ControlPlaneError,
  failureOfContent,
  failureOfNoAnswer,
  failureOfStatus,
  type RequestWords,
} from "../ports.ts";
import type { Refusal } from "./engine.ts";

/** An answer that is not 2xx. */
export interface ErrorAnswer {
  readonly status: number;
  /** The message in the documented form; `undefined`: a page of a proxy. */
  readonly message: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

export function failureOfAnswer(
  words: RequestWords,
  { status, message, retryAfterSeconds }: ErrorAnswer,
): ControlPlaneError {
  const body = Buffer.from(message === undefined ? "<html>" : JSON.stringify({ code: "", message }));
  const retryAfter = retryAfterSeconds?.toString();
  return failureOfStatus({ kind: "Answered", status, retryAfter, body, bodyEnd: "Complete" }, words, (text) => text);
}

export function failureOfRefusal(words: RequestWords, { reason, message }: Refusal): ControlPlaneError {
  return failureOfAnswer(words, { status: statusOfRefusal[reason], message });
}

export function failureOfPage(words: RequestWords, status: number): ControlPlaneError {
  return status === 200 ? unreadable(words) : failureOfAnswer(words, { status, message: undefined });
}

export function unreadable(words: RequestWords): ControlPlaneError {
  return failureOfContent(200, words, "unexpected JSON");
}

export function failureOfLoss(words: RequestWords, loss: Loss): ControlPlaneError {
  const timedOut = loss === "TimedOut";
  return failureOfNoAnswer({ kind: loss === "Unreachable" ? "NotSent" : "Lost", timedOut }, words, timedOut);
}
