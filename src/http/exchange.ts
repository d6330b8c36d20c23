import type { Dispatcher } from "undici";
import type { Clock, Timer } from "../domain/clock.ts";
import { type LeaderFence, LeaderFenceError } from "../domain/leader-fence.ts";

/** One request, ready to be sent. */
export interface HttpRequest {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly method: Dispatcher.HttpMethod;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body?: string | undefined;
}

/** How the body of an answer ended. Only a `Complete` body may be read. */
type BodyEnd = "Complete" | "TimedOut" | "ConnectionLost" | "TooLarge";

/** What became of a request. */
export type HttpOutcome =
  | {
      readonly kind: "Answered";
      readonly status: number;
      /** The `Retry-After` header as it was sent. */
      readonly retryAfter: string | undefined;
      /** The `Date` header as it was sent. */
      readonly date: string | undefined;
      readonly body: Buffer;
      readonly bodyEnd: BodyEnd;
      readonly cause?: unknown;
    }
  /** No byte of it was sent, so nothing can have been applied. */
  | { readonly kind: "NotSent"; readonly timedOut: boolean; readonly cause?: unknown }
  /** The server may have received it, and no status came back. */
  | { readonly kind: "Lost"; readonly timedOut: boolean; readonly cause?: unknown };

/** Bounds of one exchange. */
interface ExchangeLimits {
  readonly clock: Clock;
  /** From the call to the last byte of the answer, the connection set-up included. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** Tells the server that no further request follows on this connection. @default false */
  readonly isLastOnConnection?: boolean;
  /** Ends the exchange early. @default nothing does */
  readonly signal?: AbortSignal | undefined;
  /**
   * The exchange asks it when the connection stands, before the first byte is written, for the time that is left then. A
   * process that was paused while it connected must not go on when it wakes. If the fence refuses, the outcome is `NotSent`
   * with a `LeaderFenceError`.
   *
   * @default nothing is asked
   */
  readonly fence?: LeaderFence | undefined;
}

/**
 * Sends one request and waits for its whole answer, or for the deadline.
 *
 * Guarantees: never throws; sends at most once; follows no redirect; knows whether anything was sent, because the
 * dispatcher calls `onRequestStart` when a connection stands and before it writes the first byte.
 */
export function exchange(dispatcher: Dispatcher, request: HttpRequest, limits: ExchangeLimits): Promise<HttpOutcome> {
  return new Promise((resolve) => {
    const handler = new ExchangeHandler(limits, resolve);
    // A second limit beside the deadline, on the machine's own clock; 0 would mean none.
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
    limits.signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (limits.signal?.aborted === true) {
      this.#onAbort();
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isSettled || this.#controller !== undefined) {
      // Too late, or the dispatcher wants to repeat it on another connection: neither may go out.
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
    this.#limits.signal?.removeEventListener("abort", this.#onAbort);
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

function firstOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function isTimeout(error: Error & { readonly code?: string }): boolean {
  return ["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "ETIMEDOUT"].includes(
    error.code ?? "",
  );
}

/**
 * Reads a body as JSON in UTF-8.
 *
 * @returns the value in a box (JSON may well be `null`), or `undefined` when the body is not JSON in UTF-8.
 */
export function parseJson(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
