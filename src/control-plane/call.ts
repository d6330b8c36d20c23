/** The one port of the client: `call(request)`. The typed methods of a control plane stand on it. */
import type { Password } from "../domain/control-plane.ts";
import type { ControlPlaneSubject } from "../domain/control-plane-error.ts";

/** One request as a value: what it asks for, the words of its errors, and how its answer is parsed. */
export interface Request<Value> extends RequestWords {
  /** The path below the base URL with placeholders for ids. It is a metric label, so it never holds ids. */
  readonly template: string;
  /** The ids for the placeholders, in order and not escaped. */
  readonly ids: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object | undefined;
  /** Parses the JSON of a 2xx answer; `undefined`: the answer was a 204. @throws UnusableContentError */
  read(json: unknown, texts: AnswerTexts): Value;
}

export interface RequestWords {
  /** Every method but GET may change something: such a request is sent at most once, and only by the leader. */
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The request in words. It completes the message "cannot …". */
  readonly purpose: string;
  /** The kind of object that a 404 is about if its message names none. */
  readonly subject: ControlPlaneSubject;
}

export interface AnswerTexts {
  clean(text: string): string;
  /** Later texts of this control plane do not show the password. */
  password(text: string): Password;
}

/** @throws ControlPlaneError; LeaderFenceError and PutOffError when nothing was sent */
export type Call = <Value>(request: Request<Value>) => Promise<Value>;

export type KeyedCall = <Value>(request: Request<Value>, key: string) => Promise<Value>;

export interface KeySource {
  /** @throws ControlPlaneError `Unauthorized`, effect `NotApplied`, when there is none */
  current(): Promise<string>;
  /** Reports that the control plane refused this key (401). From now on the source returns another one, if it can. */
  refused?(key: string): void;
}

/** A tenant chooses the text, and the operator keeps the key in memory, so its length is limited. */
export function isApiKey(text: string): boolean {
  return /^[\x21-\x7e]{1,4096}$/.test(text);
}

export function isWrite({ method }: RequestWords): boolean {
  return method !== "GET";
}

/** Fills the placeholders in order. The ids are escaped, so that an id cannot change the path. */
export function pathOf({ template, ids }: Pick<Request<unknown>, "template" | "ids">): string {
  const rest = ids.values();
  return template.replace(/\{\w+\}/g, () => encodeURIComponent(rest.next().value?.toWellFormed() ?? ""));
}
