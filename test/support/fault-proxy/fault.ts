/** The faults that the proxy can inject. */

/** A fault of one request and its answer. */
export type RequestFault =
  /** The connection is reset before the server has seen the request. */
  | { readonly kind: "CutBeforeAnswer" }
  /** The server has done it; the connection is reset before a byte of its answer arrives. */
  | { readonly kind: "LoseAnswer" }
  /** The headers and half of the body arrive, then the connection is reset. Of a watch: the headers. */
  | { readonly kind: "CutInAnswer" }
  /** Half-open: the connection stays, the answer never comes; the server has not seen the request. */
  | { readonly kind: "NeverAnswer" }
  /** Half-open: the headers and half of the body arrive, and then nothing any more. Of a watch: the headers. */
  | { readonly kind: "NeverFinish" }
  /** The request is passed on when the fault is lifted. */
  | { readonly kind: "Hold" }
  /** The request is passed on after this delay. */
  | { readonly kind: "Delay"; readonly delayMs: number }
  /** This in place of the server's answer, which is never asked. */
  | {
      readonly kind: "Answer";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** Sent as it is. */
      readonly body: string;
    };

/** A fault of an open watch. */
export type StreamFault =
  /** The connection is reset, so much later. */
  | { readonly kind: "Cut"; readonly afterMs?: number }
  /** The stream ends as if the server had closed it, so much later. */
  | { readonly kind: "End"; readonly afterMs?: number }
  /** Half-open: the connection stays, and not one byte more arrives. */
  | { readonly kind: "GoSilent" }
  /** Half of the next line arrives; then the stream ends, or the connection is reset. */
  | { readonly kind: "Truncate"; readonly ending: "End" | "Cut" }
  /** These lines arrive between the server's own lines, after this time. */
  | { readonly kind: "Insert"; readonly lines: readonly string[]; readonly afterMs?: number }
  /** Every earlier event of this watch arrives once more, oldest first. */
  | { readonly kind: "Replay" };

/** One fault. Plain data. */
export type Fault = RequestFault | StreamFault;

/** Whether a fault is one of an open watch. */
export function isStreamFault(fault: Fault): fault is StreamFault {
  return ["Cut", "End", "GoSilent", "Truncate", "Insert", "Replay"].includes(fault.kind);
}
