/** The answers of the simulated API server. */
import type { Json, JsonObject } from "./merge-patch.ts";

/** The answer of an API server: an HTTP status, and a body. */
export interface Answer {
  readonly status: number;
  readonly body: Json;
}

/** An object as the API server stores it. */
export interface StoredObject extends JsonObject {
  readonly metadata: JsonObject & {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
  };
}

/** Makes a failure in the form of a `Status` object. */
export function failure(status: number, reason: string, message: string, details: JsonObject = {}): Answer {
  return {
    status,
    body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, details, code: status },
  };
}

/** Makes a successful answer. */
export function success(body: Json, status = 200): Answer {
  return { status, body };
}

/** Whether the answer is a success. */
export function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}
