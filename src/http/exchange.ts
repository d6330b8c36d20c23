/** Sends one HTTP request within limits of time and size, and reads its headers and its body. */
import type { Dispatcher } from "undici";
import type { Clock, Timer } from "../domain/clock.ts";
import { type LeaderFence, LeaderFenceError } from "../domain/leader-fence.ts";

/** One request, ready to be sent. */
export interface HttpRequest {
  /** Scheme, host and port of the server. */
  readonly origin: string;
  readonly method: Dispatcher.HttpMethod;
  /** The path with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as JSON text; `undefined`: none. */
  readonly body?: string | undefined;
}

/** How the body of an answer ended. Only a `Complete` body may be used. */
type BodyEnd = "Complete" | "TimedOut" | "ConnectionLost" | "TooLarge";

/** What happened with a request. */
export type HttpOutcome =
  | {
      readonly kind: "Answered";
      readonly status: number;
      /** The `Retry-After` header as the server sent it; `undefined`: none. */
      readonly retryAfter: string | undefined;
      /** The `Date` header as the server sent it; `undefined`: none. */
      readonly date: string | undefined;
      readonly body: Buffer;
      readonly bodyEnd: BodyEnd;
      readonly cause?: unknown;
    }
  /** No byte of the request was sent, so it cannot have had an effect. */
  | { readonly kind: "NotSent"; readonly timedOut: boolean; readonly cause?: unknown }
  /** The server may have received the request, but no status came back. */
  | { readonly kind: "Lost"; readonly timedOut: boolean; readonly cause?: unknown };

interface ExchangeLimits {
  readonly clock: Clock;
  /** The time limit from the call to the last byte of the answer, including the time to connect. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** Sends `Connection: close`, because no further request follows on this connection. @default false */
  readonly isLastOnConnection?: boolean;
  /** Signals that end the exchange early. `undefined` is ignored. @default none */
  readonly signals?: readonly (AbortSignal | undefined)[];
  /**
   * The leader fence. The exchange asks it when the connection is open, before the first byte is sent, with the time
   * that the call has left. A process that was paused while it connected must not send the request afterwards. If the
   * fence refuses, the outcome is `NotSent` with a `LeaderFenceError`.
   * @default nothing is asked
   */
  readonly fence?: LeaderFence | undefined;
}

/**
 * Sends one request and waits for its whole answer, or for the deadline.
 * Guarantees: never throws; sends at most once; follows no redirect. It knows whether anything was sent, because the
 * dispatcher calls `onRequestStart` when a connection is open and before it writes the first byte.
 */
export function exchange(dispatcher: Dispatcher, request: HttpRequest, limits: ExchangeLimits): Promise<HttpOutcome> {
  return new Promise((resolve) => {
    const handler = new ExchangeHandler(limits, resolve);
    // undici's own time limit beside the deadline, on the machine's clock. The value 0 would mean no limit.
    const timeoutMs = Math.max(1, Math.ceil(limits.timeoutMs));
    dispatcher.dispatch(
      {
        origin: request.origin,
        method: request.method,
        path: request.path,
        headers: { ...request.headers },
        body: request.body ?? null,
        reset: limits.isLastOnConnection ?? false,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      },
      handler,
    );
  });
}

type Answer = Pick<Extract<HttpOutcome, { readonly kind: "Answered" }>, "status" | "retryAfter" | "date">;

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits;
  readonly #resolve: (outcome: HttpOutcome) => void;
  readonly #deadline: Timer;
  readonly #dueMs: number;
  readonly #onAbort = () => this.#stop("ConnectionLost", new Error("given up"));
  #controller: Dispatcher.DispatchController | undefined;
  #answer: Answer | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isSettled = false;

  constructor(limits: ExchangeLimits, resolve: (outcome: HttpOutcome) => void) {
    this.#limits = limits;
    this.#resolve = resolve;
    this.#dueMs = limits.clock.monotonicMs() + limits.timeoutMs;
    this.#deadline = limits.clock.after(limits.timeoutMs, () => this.#stop("TimedOut", new Error("deadline passed")));
    for (const signal of limits.signals ?? []) {
      signal?.addEventListener("abort", this.#onAbort, { once: true });
      if (signal?.aborted === true) {
        this.#onAbort();
      }
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isSettled || this.#controller !== undefined) {
      // The request is too late, or the dispatcher wants to repeat it on another connection. Neither may be sent.
      controller.abort(new Error("not sent again"));
      this.#stop("ConnectionLost", new Error("the connection was replaced"));
      return;
    }
    if (!this.#mayStart()) {
      const refusal = new LeaderFenceError();
      this.#settle("ConnectionLost", refusal);
      controller.abort(refusal);
      return;
    }
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status >= 200) {
      this.#answer = { status, retryAfter: firstOf(headers["retry-after"]), date: firstOf(headers.date) };
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limits.maxResponseBytes) {
      this.#stop("TooLarge", new Error("answer too large"));
      return;
    }
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#settle("Complete", undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#settle(isTimeout(error) ? "TimedOut" : "ConnectionLost", error);
  }

  #mayStart(): boolean {
    const { fence, clock } = this.#limits;
    const leftMs = this.#dueMs - clock.monotonicMs();
    return fence === undefined || (leftMs > 0 && fence.mayStartEffect(leftMs));
  }

  #stop(end: BodyEnd, cause: Error): void {
    this.#settle(end, cause);
    this.#controller?.abort(cause);
  }

  #settle(bodyEnd: BodyEnd, cause: unknown): void {
    if (this.#isSettled) {
      return;
    }
    this.#isSettled = true;
    this.#deadline.cancel();
    for (const signal of this.#limits.signals ?? []) {
      signal?.removeEventListener("abort", this.#onAbort);
    }
    const timedOut = bodyEnd === "TimedOut";
    if (this.#answer !== undefined) {
      this.#resolve({ kind: "Answered", ...this.#answer, body: Buffer.concat(this.#chunks), bodyEnd, cause });
    } else if (this.#controller === undefined) {
      this.#resolve({ kind: "NotSent", timedOut, cause });
    } else {
      this.#resolve({ kind: "Lost", timedOut, cause });
    }
    this.#chunks = [];
  }
}

/** Returns the first value of a header that may come more than once. */
export function firstOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function isTimeout(error: Error & { readonly code?: string }): boolean {
  return ["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "ETIMEDOUT"].includes(
    error.code ?? "",
  );
}

/**
 * Parses a body as JSON in UTF-8.
 * @returns the value in an object, because the JSON may be `null`; `undefined` if the body is not JSON in UTF-8.
 */
export function parseJson(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/**
 * The longest delay that `Retry-After` may cause, in milliseconds. A wrong header must not stop the operator for days.
 */
const longestRetryAfterMs = 10 * 60_000;

/** The delay for a `Retry-After` date that cannot be compared with the server's own clock, in milliseconds. */
const unknownDateRetryAfterMs = 60_000;

/**
 * Parses a `Retry-After` header: seconds or an HTTP date. A date is compared with the `Date` header of the same answer,
 * because the operator's clock may differ from the server's. Without a readable `Date` header the delay is one minute.
 * @param date the `Date` header of the same answer.
 * @returns a delay of 0 to ten minutes, in milliseconds; `undefined` for a missing or unreadable header.
 * @see RFC 9110, section 10.2.3
 */
export function parseRetryAfter(header: string | undefined, date: string | undefined): number | undefined {
  const text = header?.trim() ?? "";
  const delayMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : delayUntilMs(text, date);
  return delayMs === undefined ? undefined : Math.min(Math.max(0, Math.ceil(delayMs)), longestRetryAfterMs);
}

function delayUntilMs(text: string, date: string | undefined): number | undefined {
  const untilMs = parseHttpDate(text);
  const sentMs = parseHttpDate(date);
  if (untilMs === undefined) {
    return undefined;
  }
  return sentMs === undefined ? unknownDateRetryAfterMs : untilMs - sentMs;
}

/**
 * Parses an HTTP date.
 * @returns epoch milliseconds; `undefined` for a missing or unreadable date.
 */
export function parseHttpDate(text: string | undefined): number | undefined {
  // Every form of an HTTP date begins with the name of a day. `Date.parse` alone would read "-5" as a year.
  const epochMs = /^[A-Za-z]{3,9},? /.test(text?.trim() ?? "") ? Date.parse(text ?? "") : Number.NaN;
  return Number.isNaN(epochMs) ? undefined : epochMs;
}
