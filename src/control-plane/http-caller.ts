/** Sends one call of the control plane: fills in the route, adds the key, parses the answer, records a span. */
import type { Clock } from "../domain/clock.ts";
import type { ControlPlaneObserver } from "../domain/control-plane.ts";
import { ControlPlaneError, type ControlPlaneSubject } from "../domain/control-plane-error.ts";
import { LeaderFenceError } from "../domain/leader-fence.ts";
import type { Tracer } from "../domain/logger.ts";
import { formsOf, type RecentSecrets } from "../domain/without-secrets.ts";
import type { HttpOutcome } from "../http/exchange.ts";
import type { HttpTransport, OriginRequest } from "../http/transport.ts";
import { type CallContext, cleanText, failureOfContent, failureOfNoAnswer, failureOfStatus } from "./failure.ts";
import type { KeySource } from "./key-source.ts";
import { pathOf, type Route } from "./routes.ts";
import { type Clean, UnusableContentError } from "./wire.ts";

export interface Call<Value> {
  readonly route: Route;
  /** The ids for the placeholders of the route, in order and not escaped. */
  readonly ids: readonly string[];
  readonly query?: string;
  readonly body?: object | undefined;
  /** Parses the answer. @throws UnusableContentError */
  read(answer: SuccessfulAnswer, clean: Clean): Value;
  /** Returns the password in the answer. Later texts must not show it. @default there is none */
  passwordIn?(value: Value): string | undefined;
}

/** A complete 2xx answer. */
interface SuccessfulAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

export interface HttpCallerOptions {
  readonly transport: HttpTransport;
  /** The path of the base URL, without a trailing slash. */
  readonly basePath: string;
  readonly keys: Pick<KeySource, "current">;
  /** The passwords in recent answers. No text of the control plane may show them. */
  readonly passwords: RecentSecrets;
  readonly clock: Clock;
  readonly observer: ControlPlaneObserver;
  readonly userAgent: string;
  readonly readTimeoutMs: number;
  readonly writeTimeoutMs: number;
  readonly tracer?: Tracer | undefined;
}

/** @throws ControlPlaneError; LeaderFenceError when the fence refused right before sending, so nothing was sent */
export type HttpCaller = <Value>(call: Call<Value>) => Promise<Value>;

type Result<Value> = { readonly value: Value } | { readonly error: ControlPlaneError };

/** The maximum length of an operation's error text in characters. It goes into status, which must stay small. */
const longestShownText = 1_000;

export function createHttpCaller(options: HttpCallerOptions): HttpCaller {
  const { tracer, passwords } = options;
  return (call) => {
    const sendNoted = async () => {
      const value = await carryOut(call, options);
      const password = call.passwordIn?.(value);
      if (password !== undefined) passwords.note(password);
      return value;
    };
    const { route, ids } = call;
    return tracer === undefined
      ? sendNoted()
      : tracer.inSpan(`${route.method} ${route.template}`, { "url.path": pathOf(route, ids) }, sendNoted);
  };
}

async function carryOut<Value>(call: Call<Value>, options: HttpCallerOptions): Promise<Value> {
  const { clock, keys, passwords, observer, tracer, transport, readTimeoutMs, writeTimeoutMs } = options;
  const { method, template } = call.route;
  const key = await keys.current();
  const request = requestOf(call, key, options);
  const startMs = clock.monotonicMs();
  const outcome = await (method === "GET"
    ? transport.sendPooled(request, readTimeoutMs)
    : transport.sendFresh(request, writeTimeoutMs));
  if (outcome.kind === "NotSent" && outcome.cause instanceof LeaderFenceError) {
    throw outcome.cause;
  }
  const result = resultOf(call, outcome, {
    route: call.route,
    // A getter, so that the forms are listed only if an answer has a text from which they must be removed.
    get secrets() {
      return [...formsOf(key), ...passwords.forms()];
    },
  });
  const code = codeOf(outcome, result);
  observer.requestEnded({ route: template, method, code, seconds: (clock.monotonicMs() - startMs) / 1_000 });
  const status = Number(code);
  tracer?.annotate({ "http.response.status_code": Number.isInteger(status) ? status : undefined });
  if ("value" in result) {
    return result.value;
  }
  if (result.error.reason === "Throttled") observer.throttled("TooManyRequests");
  if (result.error.reason === "Locked") observer.locked("ConflictingOperations");
  throw result.error;
}

function requestOf(call: Call<unknown>, key: string, options: HttpCallerOptions): OriginRequest {
  const query = call.query === undefined ? "" : `?${call.query}`;
  return {
    method: call.route.method,
    path: `${options.basePath}${pathOf(call.route, call.ids)}${query}`,
    headers: {
      authorization: `Bearer ${key}`,
      accept: "application/json",
      "user-agent": options.userAgent,
      ...(call.body === undefined ? {} : { "content-type": "application/json" }),
    },
    body: call.body && JSON.stringify(call.body),
  };
}

function resultOf<Value>(call: Call<Value>, outcome: HttpOutcome, context: CallContext): Result<Value> {
  if (outcome.kind !== "Answered") {
    return { error: failureOfNoAnswer(outcome, context) };
  }
  if (outcome.status < 200 || outcome.status > 299) {
    return { error: failureOfStatus(outcome, context) };
  }
  if (outcome.bodyEnd !== "Complete") {
    return { error: failureOfContent(outcome, "", context) };
  }
  const clean: Clean = (text) => cleanText(text, { secrets: context.secrets, maxLength: longestShownText });
  try {
    return { value: call.read(outcome, clean) };
  } catch (error) {
    if (error instanceof UnusableContentError) {
      return { error: failureOfContent(outcome, error.message, context) };
    }
    throw error;
  }
}

/** Returns the code for the metric: the HTTP status. Without a usable answer, it is the reason of the error. */
function codeOf(outcome: HttpOutcome, result: Result<unknown>): string {
  if (outcome.kind !== "Answered") {
    return "error" in result ? result.error.reason : "";
  }
  const isUsed = "value" in result || (result.error.reason !== "UnreadableAnswer" && outcome.status >= 300);
  return isUsed ? String(outcome.status) : result.error.reason;
}

/** A 404 about a container of the object is thrown, because the object may still exist. */
export async function undefinedIfAbsent<Value>(
  found: Promise<Value>,
  containers: readonly ControlPlaneSubject[],
): Promise<Value | undefined> {
  try {
    return await found;
  } catch (error) {
    const isNotFound = error instanceof ControlPlaneError && error.reason === "NotFound";
    if (isNotFound && !containers.some((container) => container === error.subject)) {
      return undefined;
    }
    throw error;
  }
}

/** Makes a call that deletes an object. It returns `undefined` if the answer is 204 or a documented 404 about the object. */
export function sendDeletion<Value>(
  call: HttpCaller,
  deletion: Call<Value>,
  containers: readonly ControlPlaneSubject[],
): Promise<Value | undefined> {
  const orNothing = (answer: SuccessfulAnswer, clean: Clean) =>
    answer.status === 204 ? undefined : deletion.read(answer, clean);
  return undefinedIfAbsent(call({ route: deletion.route, ids: deletion.ids, read: orNothing }), containers);
}
