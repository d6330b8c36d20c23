import { createHash } from "node:crypto";
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import type { Clock } from "../domain/clock.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import { KubernetesError } from "../domain/resource-store.ts";
import { untilAborted } from "./abortable.ts";
import { errorForStatus, parseStatusAnswer } from "./answer-error.ts";
import { type CallDeadline, createCallDeadline } from "./call-deadline.ts";
import type { CredentialSource, Credentials, TransportOptions } from "./credentials.ts";
import { askingAtLast } from "./last-moment.ts";
import { errorForTransport, parseJson, readBounded } from "./read-answer.ts";

/** One call to the API server. */
export interface KubernetesCall {
  /** The call in words, for messages: `patch ComputeEndpoint shop/orders`. */
  readonly what: string;
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Begins with a slash; each segment is escaped. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** @default "application/json" */
  readonly contentType?: string;
  /** For the whole call, body included; of a stream only until its headers are there. */
  readonly timeoutMs: number;
  /** Gives the call up early. */
  readonly signal?: AbortSignal | undefined;
  /** Asked right before the first byte is written, for the time that is left then. @default nobody is asked */
  readonly fence?: LeaderFence | undefined;
  /** Is told the HTTP status of the answer before its body is read. Must not throw. @default nobody is told */
  readonly onStatus?: ((status: number) => void) | undefined;
}

/** A kept-alive connection pool to one API server. */
export interface KubernetesConnection {
  /** Namespace of the kubeconfig's context, or of our own pod; `undefined` when there is none. */
  readonly namespace: string | undefined;
  /**
   * Makes a call and answers its parsed body.
   *
   * Nothing is sent twice, except after a 401: that request did nothing, so it is sent once more with credentials
   * read again.
   *
   * @throws KubernetesError. Its message holds no header and no body. LeaderFenceError when the permit of the call
   * refuses; nothing was sent then.
   */
  request(call: KubernetesCall): Promise<unknown>;
  /** Like `request`, but answers the body as it arrives. @throws KubernetesError; reading throws what the socket says */
  openStream(call: KubernetesCall): Promise<AsyncIterable<Uint8Array>>;
  /** Ends every call and closes every socket. */
  close(): Promise<void>;
}

/** How a connection is made. */
export interface ConnectionOptions {
  readonly credentials: CredentialSource;
  readonly clock: Clock;
  /** Shown in the API server's audit log. */
  readonly userAgent: string;
  /** Bound on the memory one answer may take. @default 16 MiB: any object, and parsed it still fits into a small pod */
  readonly maxBodyBytes?: number;
}

/** Files are read, and plugins asked, this often at most. They keep their own idea of when a token expires. */
const credentialsAgeMs = 10_000;

/** A plugin that hangs is asked again after this; until then every call waits for it, each for its own time. */
const credentialsTimeoutMs = 30_000;

/** Opens nothing yet; the first call does. */
export function createConnection(options: ConnectionOptions): KubernetesConnection {
  return new UndiciConnection(options);
}

interface Session {
  readonly credentials: Credentials;
  readonly dispatcher: Dispatcher;
  readonly transportHash: string;
  readonly readAtMs: number;
}

class UndiciConnection implements KubernetesConnection {
  readonly namespace: string | undefined;
  readonly #options: ConnectionOptions;
  readonly #clock: Clock;
  readonly #maxBodyBytes: number;
  readonly #origin: string;
  readonly #basePath: string;
  #session: Session | undefined;
  #opening: Promise<Session> | undefined;
  #reloadedAtMs = Number.NEGATIVE_INFINITY;
  readonly #closing = new AbortController();
  readonly #dispatchers = new Set<Dispatcher>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#maxBodyBytes = options.maxBodyBytes ?? 16 * 1024 * 1024;
    this.namespace = options.credentials.namespace;
    const base = new URL(options.credentials.server);
    this.#origin = base.origin;
    this.#basePath = base.pathname.replace(/\/$/, "");
  }

  async request(call: KubernetesCall): Promise<unknown> {
    const deadline = createCallDeadline(this.#clock, call.timeoutMs, [call.signal, this.#closing.signal]);
    try {
      const answer = await untilAborted(deadline.signal, this.#sendWithCurrentCredentials(call, deadline));
      return parseJson(await this.#textOf(answer));
    } catch (error) {
      throw errorForTransport(call.what, error, deadline.isTimedOut());
    } finally {
      deadline.end();
    }
  }

  async openStream(call: KubernetesCall): Promise<AsyncIterable<Uint8Array>> {
    const deadline = createCallDeadline(this.#clock, call.timeoutMs, [call.signal, this.#closing.signal]);
    try {
      const answer = await untilAborted(deadline.signal, this.#sendWithCurrentCredentials(call, deadline));
      // The caller's own signal still ends the stream; time no longer does.
      deadline.endTimer();
      return endingDeadline(answer.body, deadline);
    } catch (error) {
      deadline.end();
      throw errorForTransport(call.what, error, deadline.isTimedOut());
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#dispatchers].map((dispatcher) => dispatcher.destroy()));
    this.#dispatchers.clear();
  }

  async #sendWithCurrentCredentials(call: KubernetesCall, deadline: CallDeadline): Promise<Dispatcher.ResponseData> {
    const session = await this.#currentSession();
    const answer = await this.#send(call, session, deadline);
    if (answer.statusCode !== 401) {
      return await this.#successOrThrow(call, answer);
    }
    await answer.body.dump();
    if (!this.#mayTryAgain(session)) {
      call.onStatus?.(answer.statusCode);
      throw errorForStatus(call.what, parseStatusAnswer(401, undefined));
    }
    return await this.#successOrThrow(call, await this.#send(call, await this.#currentSession(), deadline));
  }

  /** Reads credentials again for whoever is refused first; the others find them read already. */
  #mayTryAgain(refused: Session): boolean {
    if (this.#session !== refused) {
      return true;
    }
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#reloadedAtMs < credentialsAgeMs) {
      return false;
    }
    this.#reloadedAtMs = nowMs;
    this.#options.credentials.reload();
    this.#session = { ...refused, readAtMs: Number.NEGATIVE_INFINITY };
    return true;
  }

  async #send(call: KubernetesCall, session: Session, deadline: CallDeadline): Promise<Dispatcher.ResponseData> {
    const query = call.query === undefined ? "" : `?${new URLSearchParams(call.query)}`;
    const hasBody = call.body !== undefined;
    return await dispatcherFor(call, session, deadline).request({
      origin: this.#origin,
      path: `${this.#basePath}${call.path}${query}`,
      method: call.method,
      headers: {
        ...session.credentials.headers,
        accept: "application/json",
        "user-agent": this.#options.userAgent,
        ...(hasBody ? { "content-type": call.contentType ?? "application/json" } : {}),
      },
      body: hasBody ? JSON.stringify(call.body) : null,
      signal: deadline.signal,
      // Ours bound every call; undici's would end a quiet watch.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  async #successOrThrow(call: KubernetesCall, answer: Dispatcher.ResponseData): Promise<Dispatcher.ResponseData> {
    call.onStatus?.(answer.statusCode);
    if (answer.statusCode >= 200 && answer.statusCode < 300) {
      return answer;
    }
    const retryAfter = answer.headers["retry-after"];
    const body = await this.#textOf(answer)
      .then(parseJson)
      .catch(() => undefined);
    const status = parseStatusAnswer(answer.statusCode, body, typeof retryAfter === "string" ? retryAfter : undefined);
    throw errorForStatus(call.what, status);
  }

  /** Almost every answer says how long it is; it is then read in one piece. */
  #textOf({ headers, body }: Dispatcher.ResponseData): Promise<string> {
    const isShort = Number(headers["content-length"]) <= this.#maxBodyBytes;
    return isShort ? body.text() : readBounded(body, this.#maxBodyBytes);
  }

  async #currentSession(): Promise<Session> {
    const session = this.#session;
    if (session !== undefined && this.#clock.monotonicMs() - session.readAtMs < credentialsAgeMs) {
      return session;
    }
    this.#opening ??= this.#openSession().finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  async #openSession(): Promise<Session> {
    const credentials = await this.#readCredentials();
    const transportHash = createHash("sha256").update(JSON.stringify(credentials.transport)).digest("base64");
    const before = this.#session;
    const dispatcher =
      before?.transportHash === transportHash ? before.dispatcher : this.#replaceDispatcher(credentials, before);
    this.#session = { credentials, dispatcher, transportHash, readAtMs: this.#clock.monotonicMs() };
    return this.#session;
  }

  async #readCredentials(): Promise<Credentials> {
    const deadline = createCallDeadline(this.#clock, credentialsTimeoutMs, [this.#closing.signal]);
    try {
      return await untilAborted(deadline.signal, this.#options.credentials.current());
    } catch (error) {
      // What a plugin wrote may hold a secret: it goes no further than the cause.
      const message = "cannot reach the API server: the credentials of the kubeconfig or pod cannot be read";
      throw new KubernetesError("Unauthorized", message, { cause: error });
    } finally {
      deadline.end();
    }
  }

  #replaceDispatcher(credentials: Credentials, before: Session | undefined): Dispatcher {
    const dispatcher = createDispatcher(credentials.transport);
    this.#dispatchers.add(dispatcher);
    if (before !== undefined) {
      // Calls under way end in peace with the old certificate; a watch stays on it until it is reopened.
      void before.dispatcher.close().finally(() => this.#dispatchers.delete(before.dispatcher));
    }
    return dispatcher;
  }
}

function dispatcherFor({ fence }: KubernetesCall, { dispatcher }: Session, { leftMs }: CallDeadline): Dispatcher {
  return fence === undefined
    ? dispatcher
    : askingAtLast(dispatcher, () => leftMs() > 0 && fence.mayStartEffect(leftMs()));
}

function createDispatcher({ tls, proxyUrl }: TransportOptions): Dispatcher {
  // HTTP/1.1: one lost socket then costs one call, and a half-open one cannot hold up the others.
  const common = { allowH2: false, keepAliveTimeout: 30_000, pipelining: 1 };
  // Below the idle limits of the usual load balancers.
  const socket = { keepAlive: true, keepAliveInitialDelay: 30_000, timeout: 10_000, allowH2: false };
  return proxyUrl === undefined
    ? new Agent({ ...common, connect: { ...socket, ...tls } })
    : new ProxyAgent({ ...common, uri: proxyUrl, requestTls: { ...socket, ...tls }, connect: socket });
}

async function* endingDeadline(body: AsyncIterable<Uint8Array>, deadline: CallDeadline): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    deadline.end();
  }
}
