/** The list of faults for tests. */
import type { Fault, StreamFault } from "./fault.ts";
import { type StatusFields, statusObject } from "./status-object.ts";

/** Makes a refusal in place of the server's answer. */
export function refuse(code: number, reason: string, retryAfterSeconds?: number): Fault {
  const status = { code, reason, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  const headers = retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };
  const body = JSON.stringify(statusObject(status));
  return { kind: "Answer", status: code, headers: { "content-type": "application/json", ...headers }, body };
}

/** Lines that arrive between the server's own. */
type Insertion = StreamFault & { readonly kind: "Insert" };

/** Makes an ERROR event in the stream of a watch. */
export function errorEvent(status: StatusFields): Insertion {
  return { kind: "Insert", lines: [JSON.stringify({ type: "ERROR", object: statusObject(status) })] };
}

/**
 * Makes a bookmark in the stream of a watch.
 * @param resourceVersion the version that the client should believe
 */
export function bookmark(resourceVersion: string): Insertion {
  const object = {
    kind: "ComputeEndpoint",
    apiVersion: "endpoint-operator.dev/v1alpha1",
    metadata: { resourceVersion },
  };
  return { kind: "Insert", lines: [JSON.stringify({ type: "BOOKMARK", object })] };
}

/** Faults of any request. */
export const requestFaults = {
  "cut before the answer": { kind: "CutBeforeAnswer" },
  "the answer is lost": { kind: "LoseAnswer" },
  "cut in the answer": { kind: "CutInAnswer" },
  "never answered": { kind: "NeverAnswer" },
  "never finished": { kind: "NeverFinish" },
  "delayed by 4 s": { kind: "Delay", delayMs: 4_000 },
  "401": refuse(401, "Unauthorized"),
  "403": refuse(403, "Forbidden"),
  "410": refuse(410, "Expired"),
  "429, again in 2 s": refuse(429, "TooManyRequests", 2),
  "500": refuse(500, "InternalError"),
  "504": refuse(504, "Timeout"),
  "a page of HTML": {
    kind: "Answer",
    status: 200,
    headers: { "content-type": "text/html" },
    body: "<html>log in</html>\n",
  },
} as const satisfies Readonly<Record<string, Fault>>;

/** The faults of an open watch, by name. */
export const streamFaults = {
  cut: { kind: "Cut" },
  "closed by the server": { kind: "End" },
  "half-open": { kind: "GoSilent" },
  "ends in the middle of a line": { kind: "Truncate", ending: "End" },
  "cut in the middle of a line": { kind: "Truncate", ending: "Cut" },
  "ERROR 410": errorEvent({ code: 410, reason: "Expired" }),
  "ERROR 500": errorEvent({ code: 500, reason: "InternalError" }),
  "ERROR 429, again in 2 s": errorEvent({ code: 429, reason: "TooManyRequests", retryAfterSeconds: 2 }),
  "an ERROR that holds nothing": { kind: "Insert", lines: ['{"type":"ERROR"}'] },
  "a line of garbage": { kind: "Insert", lines: ["<html>bad gateway</html>"] },
  "a line of garbage that is JSON": { kind: "Insert", lines: ["null"] },
  "an event of no known type": { kind: "Insert", lines: ['{"type":"NEWS","object":{}}'] },
  "an event whose object is none": { kind: "Insert", lines: ['{"type":"MODIFIED","object":{"spec":1}}'] },
  "a bookmark of the past": bookmark("1"),
  "a bookmark without a version": { kind: "Insert", lines: ['{"type":"BOOKMARK","object":{"metadata":{}}}'] },
  "old events again": { kind: "Replay" },
} as const satisfies Readonly<Record<string, Fault>>;
