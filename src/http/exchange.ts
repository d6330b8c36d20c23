/** Sends one HTTP request within limits of time and size, and reads its headers and its body. */
import type { Dispatcher } from "undici";
import type { Clock } from "../domain/clock.ts";
import { type LeaderFence, LeaderFenceError } from "../domain/leader-fence.ts";
import { type CallDeadline, createCallDeadline, onAbort } from "./call-deadline.ts";

export interface HttpRequest {
  readonly origin: string;
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** How the body of an answer ended. Only a `Complete` body may be used. */
type BodyEnd = "Complete" | "TimedOut" | "ConnectionLost" | "TooLarge";

export interface AnswerHead {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

export interface Answered extends AnswerHead {
  readonly kind: "Answered";
  readonly body: Buffer;
  readonly bodyEnd: BodyEnd;
  readonly cause?: unknown;
}

export type HttpOutcome =
  | Answered
  /** NotSent: no byte was sent, so it had no effect. Lost: the server may have received it, but no status came back. */
  | { readonly kind: "NotSent" | "Lost"; readonly timedOut: boolean; readonly cause?: unknown };

interface ExchangeLimits {
  readonly clock: Clock;
  /** The time limit from the call to the last byte of the answer, including the time to connect. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** The maximum number of values in a JSON answer: small values need much more memory than their text. @default no limit */
  readonly maxResponseValues?: number | undefined;
  /** Sends `Connection: close`, because no further request follows on this connection. @default false */
  readonly isLastOnConnection?: boolean;
  /** Signals that end the exchange early. `undefined` is ignored. @default none */
  readonly signals?: readonly (AbortSignal | undefined)[];
  /**
   * Asked when the connection is open, before the first byte: a process that was paused meanwhile must not send.
   * If it refuses, the outcome is `NotSent` with a `LeaderFenceError`. @default nothing is asked
   */
  readonly fence?: LeaderFence | undefined;
}

/** Never throws, sends at most once, follows no redirect. `onRequestStart` comes before the first byte is written. */
export function exchange(dispatcher: Dispatcher, request: HttpRequest, limits: ExchangeLimits): Promise<HttpOutcome> {
  return new Promise((resolve) => {
    const handler = new ExchangeHandler(limits, resolve);
    // undici's own time limit beside the deadline, on the machine's clock. The value 0 would mean no limit.
    const timeoutMs = Math.max(1, Math.ceil(limits.timeoutMs));
    dispatcher.dispatch(
      {
        ...request,
        body: request.body ?? null,
        reset: limits.isLastOnConnection ?? false,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      },
      handler,
    );
  });
}

/** The maximum size of an answer that is not 2xx, in bytes. Its text is shown to people, so it is searched for secrets. */
const maxErrorBytes = 256 * 1024;

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits;
  readonly #resolve: (outcome: HttpOutcome) => void;
  readonly #deadline: CallDeadline;
  readonly #dueMs: number;
  #controller: Dispatcher.DispatchController | undefined;
  #answer: AnswerHead | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  readonly #values = new JsonValueCount();
  #isSettled = false;

  constructor(limits: ExchangeLimits, resolve: (outcome: HttpOutcome) => void) {
    this.#limits = limits;
    this.#resolve = resolve;
    this.#dueMs = limits.clock.monotonicMs() + limits.timeoutMs;
    this.#deadline = createCallDeadline(limits.clock, limits.timeoutMs, limits.signals ?? []);
    const { signal, isTimedOut } = this.#deadline;
    onAbort(signal, () => this.#stop(isTimedOut() ? "TimedOut" : "ConnectionLost", new Error("given up")));
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

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    if (status >= 200) {
      this.#answer = headOf(status, headers);
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxResponseBytes, maxResponseValues } = this.#limits;
    this.#bytes += chunk.length;
    const isError = this.#answer === undefined || this.#answer.status >= 300;
    const maxBytes = isError ? Math.min(maxErrorBytes, maxResponseBytes) : maxResponseBytes;
    const isTooMany = maxResponseValues !== undefined && this.#values.after(chunk) > maxResponseValues;
    if (this.#bytes > maxBytes || isTooMany) {
      this.#chunks = [];
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
    this.#deadline.end();
    const timedOut = bodyEnd === "TimedOut";
    this.#resolve(
      this.#answer === undefined
        ? { kind: this.#controller === undefined ? "NotSent" : "Lost", timedOut, cause }
        : { kind: "Answered", ...this.#answer, body: Buffer.concat(this.#chunks), bodyEnd, cause },
    );
    this.#chunks = [];
  }
}

const code = { quote: 0x22, backslash: 0x5c, comma: 0x2c, bracket: 0x5b, brace: 0x7b } as const;

/** Counts the values of a JSON text while it arrives. Outside of texts, each `,`, `[` and `{` stands before one value. */
class JsonValueCount {
  #count = 0;
  #isInText = false;
  #isEscaped = false;

  after(part: Uint8Array): number {
    for (const byte of part) {
      if (this.#isEscaped) {
        this.#isEscaped = false;
      } else if (this.#isInText) {
        this.#isEscaped = byte === code.backslash;
        this.#isInText = byte !== code.quote;
      } else if (byte === code.quote) {
        this.#isInText = true;
      } else if (byte === code.comma || byte === code.bracket || byte === code.brace) {
        this.#count += 1;
      }
    }
    return this.#count;
  }
}

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

export function headOf(status: number, headers: AnswerHeaders): AnswerHead {
  return { status, retryAfter: [headers["retry-after"]].flat()[0] };
}

function isTimeout({ code = "" }: Error & { readonly code?: string }): boolean {
  return code === "ETIMEDOUT" || /^UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT$/.test(code);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** In an object, because the JSON may be `null`; `undefined` if the body is not JSON in UTF-8. */
export function parseJson(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(utf8.decode(body)) as unknown };
  } catch {
    return undefined;
  }
}

/** The longest wait for one answer, in milliseconds. A wrong header must not stop the operator for days. */
const longestRetryAfterMs = 60_000;

/** @returns 0 to one minute, in milliseconds; `undefined` for a header that is missing or not a number of seconds */
export function parseRetryAfter(header = ""): number | undefined {
  const isSeconds = /^\d+(\.\d+)?$/.test(header.trim());
  return isSeconds ? Math.min(Math.ceil(Number(header) * 1_000), longestRetryAfterMs) : undefined;
}
