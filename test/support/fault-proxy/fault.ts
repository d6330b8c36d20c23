/** The faults that the proxy can inject. */

/** A fault of one request and its answer. */
export type RequestFault =
  /** The connection is reset before the server has received the request. */
  | { readonly kind: "CutBeforeAnswer" }
  /** The server has carried the request out. The connection is reset before a byte of the answer arrives. */
  | { readonly kind: "LoseAnswer" }
  /** The headers and half of the body arrive, and then the connection is reset. Of a watch: only the headers. */
  | { readonly kind: "CutInAnswer" }
  /** Half-open: the connection stays, and no answer ever comes. The server has not received the request. */
  | { readonly kind: "NeverAnswer" }
  /** Half-open: the headers and half of the body arrive, and nothing after that. Of a watch: only the headers. */
  | { readonly kind: "NeverFinish" }
  /** The request is passed on when the fault is removed. */
  | { readonly kind: "Hold" }
  /** The server has carried the request out. Its answer is passed on when the fault is removed. */
  | { readonly kind: "HoldAnswer" }
  /** The request is passed on after this delay. */
  | { readonly kind: "Delay"; readonly delayMs: number }
  /** The proxy sends this answer. The server does not get the request. */
  | {
      readonly kind: "Answer";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** The body is sent as it is. */
      readonly body: string;
    };

/** A fault of an open watch. */
export type StreamFault =
  /** The connection is reset after this time. */
  | { readonly kind: "Cut"; readonly afterMs?: number }
  /** After this time the stream ends, as if the server had closed it. */
  | { readonly kind: "End"; readonly afterMs?: number }
  /** Half-open: the connection stays, and no further byte arrives. */
  | { readonly kind: "GoSilent" }
  /** Half of the next line arrives. Then the stream ends, or the connection is reset. */
  | { readonly kind: "Truncate"; readonly ending: "End" | "Cut" }
  /** After this time, these lines arrive between the server's own lines. */
  | { readonly kind: "Insert"; readonly lines: readonly string[]; readonly afterMs?: number }
  /** Every earlier event of this watch arrives again, oldest first. */
  | { readonly kind: "Replay" };

/** One fault. Plain data. */
export type Fault = RequestFault | StreamFault;

/** Whether a fault is for an open watch. */
export function isStreamFault(fault: Fault): fault is StreamFault {
  return ["Cut", "End", "GoSilent", "Truncate", "Insert", "Replay"].includes(fault.kind);
}
