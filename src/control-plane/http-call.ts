/** Sends one request to the control plane over HTTP: adds the key, parses the answer, makes the error. */
import { type ControlPlaneObserver, Password } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import { LeaderFenceError } from "../domain/leader-fence.ts";
import type { Tracer } from "../domain/logger.ts";
import { formsOf, RecentSecrets } from "../domain/without-secrets.ts";
import { type Answered, type HttpOutcome, parseJson } from "../http/exchange.ts";
import { HttpTransport, type HttpTransportOptions, type OriginRequest } from "../http/transport.ts";
import { isWrite, type KeyedCall, pathOf, type Request } from "./call.ts";
import { type Clean, cleanText, failureOfContent, failureOfNoAnswer, failureOfStatus } from "./failure.ts";
import { UnusableContentError } from "./wire.ts";

/** For writes. The lease must last longer. */
export const writeTimeoutMs = 8_000;

/** Times in milliseconds. */
const limits = {
  readTimeoutMs: 10_000,
  writeLimitMs: writeTimeoutMs,
  connectTimeoutMs: 5_000,
  maxResponseBytes: 16 * 1024 * 1024,
  /** An endpoint has about 30 values. All tenants share one process, and a value costs up to a hundred bytes. */
  maxResponseValues: 250_000,
  /** For reads. A read without an answer keeps its connection, and must not delay the others. */
  connections: 256,
};

export interface HttpCallOptions
  extends Omit<HttpTransportOptions, "origin" | keyof typeof limits>,
    Partial<typeof limits> {
  readonly baseUrl: string;
  readonly observer: Pick<ControlPlaneObserver, "requestEnded" | "throttled" | "locked">;
  readonly userAgent: string;
  readonly tracer?: Tracer | undefined;
}

export interface HttpClient {
  /** Base URL without a trailing slash. */
  readonly serviceUrl: string;
  readonly call: KeyedCall;
  /** Closes the kept connections. Reads in progress fail. */
  close(): Promise<void>;
}

/** @throws Error when the base URL is not valid; the message describes a valid one */
export function createHttpClient(options: HttpCallOptions): HttpClient {
  const serviceUrl = serviceUrlOf(options.baseUrl);
  const { origin, pathname } = new URL(serviceUrl);
  const { tracer } = options;
  const own = { ...limits, ...options };
  const parts = { ...own, transport: new HttpTransport({ ...own, origin }), basePath: pathname };
  const passwords = new RecentSecrets();
  const send: KeyedCall = (request, key) => sendRequest(request, parts, { key, passwords });
  const call = tracer === undefined ? send : withSpans(send, tracer);
  return { serviceUrl, call, close: () => parts.transport.close() };
}

function withSpans(send: KeyedCall, tracer: Tracer): KeyedCall {
  return (request, key) =>
    tracer.inSpan(`${request.method} ${request.template}`, { "url.path": pathOf(request) }, () => send(request, key));
}

/** `basePath`: the path of the base URL, without a trailing slash. */
type Parts = HttpCallOptions & typeof limits & { readonly transport: HttpTransport; readonly basePath: string };

/** What no text of the control plane may show: the key in use, and the passwords in recent answers. */
interface Secrets {
  readonly key: string;
  readonly passwords: RecentSecrets;
}

async function sendRequest<Value>(request: Request<Value>, parts: Parts, secrets: Secrets): Promise<Value> {
  const { clock, observer, tracer, transport, readTimeoutMs, writeLimitMs } = parts;
  const message = messageOf(request, parts, secrets.key);
  const startMs = clock.monotonicMs();
  const outcome = await (isWrite(request)
    ? transport.sendFresh(message, writeLimitMs)
    : transport.sendPooled(message, readTimeoutMs));
  if (outcome.kind === "NotSent" && outcome.cause instanceof LeaderFenceError) {
    throw outcome.cause;
  }
  const result = resultOf(request, outcome, secrets);
  const { method, template: route } = request;
  const code = codeOf(outcome, result);
  observer.requestEnded({ route, method, code, seconds: (clock.monotonicMs() - startMs) / 1_000 });
  tracer?.annotate({ "http.response.status_code": /^\d+$/.test(code) ? Number(code) : undefined });
  if ("value" in result) {
    return result.value;
  }
  if (result.error.reason === "Throttled") observer.throttled("TooManyRequests");
  if (result.error.reason === "Locked") observer.locked("ConflictingOperations");
  throw result.error;
}

function messageOf(request: Request<unknown>, { basePath, userAgent }: Parts, key: string): OriginRequest {
  const query = request.query === undefined ? "" : `?${new URLSearchParams(request.query)}`;
  return {
    method: request.method,
    path: `${basePath}${pathOf(request)}${query}`,
    headers: {
      authorization: `Bearer ${key}`,
      accept: "application/json",
      "user-agent": userAgent,
      ...(request.body === undefined ? {} : { "content-type": "application/json" }),
    },
    body: request.body && JSON.stringify(request.body),
  };
}

/** The maximum length of an operation's error text in characters. It goes into status, which must stay small. */
const longestShownText = 1_000;

type Result<Value> = { readonly value: Value } | { readonly error: ControlPlaneError };

function resultOf<Value>(request: Request<Value>, outcome: HttpOutcome, { key, passwords }: Secrets): Result<Value> {
  const clean: Clean = (text, maxLength) => cleanText(text, [...formsOf(key), ...passwords.forms()], maxLength);
  if (outcome.kind !== "Answered") {
    return { error: failureOfNoAnswer(outcome, request, outcome.timedOut) };
  }
  const { status, bodyEnd } = outcome;
  if (status < 200 || status > 299) {
    return { error: failureOfStatus(outcome, request, clean) };
  }
  if (bodyEnd === "TimedOut" || bodyEnd === "ConnectionLost") {
    return { error: failureOfNoAnswer(outcome, request, bodyEnd === "TimedOut") };
  }
  try {
    const value = request.read(jsonOf(outcome), {
      clean: (text) => clean(text, longestShownText),
      password(text) {
        passwords.note(text);
        return new Password(text);
      },
    });
    return { value };
  } catch (error) {
    if (error instanceof UnusableContentError) {
      return { error: failureOfContent(status, request, clean(error.message)) };
    }
    throw error;
  }
}

/** `undefined`: 204. @throws UnusableContentError */
function jsonOf({ status, body, bodyEnd }: Answered): unknown {
  if (status === 204) {
    return undefined;
  }
  if (bodyEnd === "TooLarge") {
    throw new UnusableContentError("a body that is too long or has too many entries");
  }
  const json = parseJson(body);
  if (json === undefined) {
    throw new UnusableContentError(body.length === 0 ? "an empty body" : "something that is not JSON");
  }
  return json.value;
}

/** Returns the code for the metric: the HTTP status. Without a usable answer, it is the reason of the error. */
function codeOf(outcome: HttpOutcome, result: Result<unknown>): string {
  const isUsed =
    outcome.kind === "Answered" &&
    ("value" in result || (result.error.reason !== "UnreadableAnswer" && outcome.status >= 300));
  return isUsed ? String(outcome.status) : "error" in result ? result.error.reason : "";
}

/** The form in which the URL stands in ownership records. The settings and the CRD refuse what is not a base URL. */
export function serviceUrlOf(text: string): string {
  const { origin, pathname } = new URL(text);
  return origin + pathname.replace(/\/+$/, "");
}
