/** The connection to the API server: sends calls with credentials, reads credentials again after a 401, traces writes. */
import type { Clock } from "../../domain/clock.ts";
import type { LeaderFence } from "../../domain/leader-fence.ts";
import type { Tracer } from "../../domain/logger.ts";
import { type CallDeadline, createCallDeadline, GivenUpError, untilAborted } from "../../http/call-deadline.ts";
import { type AnswerHead, exchange, type HttpOutcome, type HttpRequest, parseJson } from "../../http/exchange.ts";
import { openStream, type StreamedAnswer } from "../../http/transport.ts";
import {
  errorForOutcome,
  errorForStatus,
  errorForTransport,
  parseStatusAnswer,
  unreadableAnswer,
} from "./answer-error.ts";
import { type CredentialSource, type Session, Sessions } from "./credentials.ts";

export interface KubernetesCall {
  /** The call in words, for messages: `patch ComputeEndpoint shop/orders`. */
  readonly what: string;
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** The path of the URL. It begins with a slash, and each segment is escaped. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly contentType?: string;
  /** The time limit for the whole call, body included. For a stream, it is the limit until the headers arrive. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /**
   * The leader fence, asked right before the first byte is sent, with the time that the call has left. `openStream`
   * does not ask it.
   * @default none
   */
  readonly fence?: LeaderFence | undefined;
}

export interface KubernetesConnection {
  readonly namespace: string;
  /**
   * Makes a call and returns the parsed body of the answer. It is sent once. After a 401 the next call uses credentials
   * that are read again.
   * @throws KubernetesError. Its message holds no header and no body. LeaderFenceError when the fence of the call
   *   refuses; nothing was sent then.
   */
  request(call: KubernetesCall): Promise<unknown>;
  /** @throws KubernetesError; while the body is read, the error of the socket */
  openStream(call: KubernetesCall): Promise<AsyncIterable<Uint8Array>>;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  readonly credentials: CredentialSource;
  readonly clock: Clock;
  readonly userAgent: string;
  /** The maximum size of one answer. @default 16 MiB: its parsed form still fits into a small pod */
  readonly maxBodyBytes?: number;
}

const defaultMaxBodyBytes = 16 * 1024 * 1024;

export function createConnection(options: ConnectionOptions): KubernetesConnection {
  return new HttpConnection(options);
}

class HttpConnection implements KubernetesConnection {
  readonly namespace: string;
  readonly #options: ConnectionOptions;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #closing = new AbortController();
  readonly #sessions: Sessions;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.namespace = options.credentials.namespace;
    const base = new URL(options.credentials.server);
    this.#origin = base.origin;
    this.#basePath = base.pathname.replace(/\/$/, "");
    this.#sessions = new Sessions(options.credentials, options.clock, this.#closing.signal);
  }

  async request(call: KubernetesCall): Promise<unknown> {
    const { maxBodyBytes = defaultMaxBodyBytes, clock } = this.#options;
    const signals = [call.signal, this.#closing.signal];
    const limits = { clock, maxResponseBytes: maxBodyBytes, fence: call.fence, signals };
    const outcome = await this.#sendAuthorized(call, ({ dispatcher }, request, timeoutMs) =>
      exchange(dispatcher, request, { ...limits, timeoutMs }),
    );
    return bodyOf(call, outcome);
  }

  async openStream(call: KubernetesCall): Promise<AsyncIterable<Uint8Array>> {
    const deadline = createCallDeadline(this.#options.clock, call.timeoutMs, [call.signal, this.#closing.signal]);
    try {
      const answer = await this.#sendAuthorized(call, ({ dispatcher }, request) =>
        untilAborted(deadline.signal, openStream(dispatcher, request, deadline.signal)),
      );
      if (!isSuccess(answer.status)) {
        throw errorOfStatus(call, answer, Buffer.from(await answer.text()));
      }
      // From here on only the signals end the stream, not the time limit.
      deadline.endTimer();
      return endingDeadline(answer.body, deadline);
    } catch (error) {
      deadline.end();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#sessions.close();
  }

  async #sendAuthorized<Answer extends HttpOutcome | StreamedAnswer>(
    call: KubernetesCall,
    send: (session: Session, request: HttpRequest, timeoutMs: number) => Promise<Answer>,
  ): Promise<Answer> {
    const dueMs = this.#options.clock.monotonicMs() + call.timeoutMs;
    try {
      const session = await this.#sessions.current(call.timeoutMs);
      const leftMs = Math.max(0, dueMs - this.#options.clock.monotonicMs());
      const answer = await send(session, this.#requestOf(call, session), leftMs);
      if ("status" in answer && answer.status === 401) {
        this.#sessions.renew(session);
      }
      return answer;
    } catch (error) {
      const isEnded = call.signal?.aborted === true || this.#closing.signal.aborted;
      throw errorForTransport(call.what, error, error instanceof GivenUpError && !isEnded);
    }
  }

  #requestOf(call: KubernetesCall, { credentials }: Session): HttpRequest {
    const query = call.query === undefined ? "" : `?${new URLSearchParams(call.query)}`;
    const hasBody = call.body !== undefined;
    return {
      origin: this.#origin,
      path: `${this.#basePath}${call.path}${query}`,
      method: call.method,
      headers: {
        ...credentials.headers,
        accept: "application/json",
        "user-agent": this.#options.userAgent,
        ...(hasBody ? { "content-type": call.contentType ?? "application/json" } : {}),
      },
      body: hasBody ? JSON.stringify(call.body) : undefined,
    };
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function bodyOf(call: KubernetesCall, outcome: HttpOutcome): unknown {
  const isComplete = outcome.kind === "Answered" && outcome.bodyEnd === "Complete";
  if (outcome.kind === "Answered" && !isSuccess(outcome.status)) {
    throw errorOfStatus(call, outcome, isComplete ? outcome.body : undefined);
  }
  if (!isComplete) {
    throw errorForOutcome(call.what, outcome);
  }
  const json = parseJson(outcome.body);
  if (json === undefined) {
    throw unreadableAnswer(call.what, "not JSON");
  }
  return json.value;
}

function errorOfStatus({ what, method }: KubernetesCall, answer: AnswerHead, body: Buffer | undefined): Error {
  const json = body === undefined ? undefined : parseJson(body)?.value;
  return errorForStatus(what, parseStatusAnswer(answer.status, json, answer), method !== "GET");
}

async function* endingDeadline(body: AsyncIterable<Uint8Array>, deadline: CallDeadline): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    deadline.end();
  }
}

/**
 * Returns a connection that records a trace span for each write, as a child of the span of its reconcile. Reads and
 * watches get no span. Neither do events, because they are sent later than their reconcile.
 */
export function withWriteSpans(inner: KubernetesConnection, tracer: Tracer): KubernetesConnection {
  return withRequest(inner, (call) =>
    call.method === "GET" || /\/events(?:\/|$)/.test(call.path)
      ? inner.request(call)
      : tracer.inSpan(`${call.method} kubernetes`, { "url.path": call.path }, () => inner.request(call)),
  );
}

/** Returns the connection with another way to make a call. */
export function withRequest(
  inner: KubernetesConnection,
  request: KubernetesConnection["request"],
): KubernetesConnection {
  return {
    namespace: inner.namespace,
    request,
    openStream: (call) => inner.openStream(call),
    close: () => inner.close(),
  };
}
