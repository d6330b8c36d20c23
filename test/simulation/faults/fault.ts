/** The faults that a call of the operator may have. */

/** A fault of one call of the operator to a server. */
export type Fault =
  | { readonly kind: "None" }
  /** The process ends before it has sent anything. */
  | { readonly kind: "CrashBefore" }
  /** The call takes effect; the process ends before the answer arrives. */
  | { readonly kind: "CrashAfter" }
  /** The server answers with this status and does nothing. */
  | { readonly kind: "Refused"; readonly status: number; readonly retryAfter?: RetryAfter }
  /** The call takes effect. The caller gets no answer: its connection breaks, or it waits until its time limit. */
  | { readonly kind: "AnswerLost"; readonly asTimeout: boolean }
  /**
   * The caller gets no answer: its connection breaks, or it waits until its time limit. The call takes effect later,
   * after this time.
   */
  | { readonly kind: "AppliedLate"; readonly afterMs: number; readonly asTimeout: boolean }
  /** The connection breaks before the server has read the call. The caller does not know that. */
  | { readonly kind: "RequestLost"; readonly asTimeout: boolean }
  /** The machine stops for this time, right after it has sent the call. The call takes effect in that time. */
  | { readonly kind: "Paused"; readonly durationMs: number }
  /** The caller cannot connect. */
  | { readonly kind: "Unreachable" }
  /** A proxy answers with a page of its own, whether or not the server has done what was asked. */
  | { readonly kind: "Page"; readonly status: number; readonly isApplied: boolean };

/** How long a server asks the client to wait. */
export interface RetryAfter {
  readonly seconds: number;
}

/** The call has no fault. */
export const noFault: Fault = { kind: "None" };

/** One call that is about to be sent. */
export interface PlannedCall {
  readonly replica: string;
  readonly server: "API server" | "control plane";
  /** `patch status of shop/orders`, `POST endpoint for shop/orders`. */
  readonly what: string;
  /** Whether the call changes a resource or an endpoint. Calls about leases and events do not count. */
  readonly isEffect: boolean;
  readonly isRead: boolean;
}

/** Decides which fault a call has. It is asked once for each call, in order. */
export interface FaultSource {
  of(call: PlannedCall): Fault;
}

/** Returns the fault in words: `the answer is lost`. */
export function wordsOf(fault: Fault): string {
  switch (fault.kind) {
    case "None":
      return "nothing goes wrong";
    case "CrashBefore":
      return "the operator is killed before it sends";
    case "CrashAfter":
      return "the operator is killed before the answer arrives";
    case "Refused":
      return `the server refuses with ${fault.status}${retryAfterWords(fault.retryAfter)}`;
    case "AnswerLost":
      return `the server does it, and the answer is lost${lossWords(fault)}`;
    case "AppliedLate":
      return `the operator sees no answer${lossWords(fault)}, and the server does it ${fault.afterMs / 1_000} s later`;
    case "RequestLost":
      return `the request is lost, and the operator sees no answer${lossWords(fault)}`;
    case "Paused":
      return `the operator's machine stands still for ${fault.durationMs / 1_000} s after sending`;
    case "Unreachable":
      return "the server cannot be reached";
    case "Page": {
      const done = fault.isApplied ? "the server does it" : "nothing reaches the server";
      return `a proxy answers ${fault.status} with an HTML page, and ${done}`;
    }
  }
}

function lossWords({ asTimeout }: { readonly asTimeout: boolean }): string {
  return asTimeout ? " (timeout)" : " (connection reset)";
}

function retryAfterWords(retryAfter: RetryAfter | undefined): string {
  return retryAfter === undefined ? "" : ` and asks for ${retryAfter.seconds} s`;
}
