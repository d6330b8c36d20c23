/** The simulated network between a process and a server. */
import type { Fault } from "../faults/fault.ts";
import type { Process } from "../replica/process.ts";
import { everlasting, type VirtualTime } from "../time/virtual-time.ts";

/** How a call ended without an answer. */
export type Loss = "TimedOut" | "ConnectionLost" | "Unreachable" | "GivenUp";

/** One call from a process to a server. */
export interface Exchange<Value> {
  readonly process: Process;
  readonly fault: Fault;
  /** Each way. */
  readonly latencyMs: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Carries the call out on the server. It may throw the error that the caller gets. */
  readonly apply: () => Value;
  /** Returns the error of the caller if the server refuses. */
  readonly refusal: (fault: Extract<Fault, { readonly kind: "Refused" }>) => Error;
  /** Returns the error of the caller if a proxy answers with a page. */
  readonly page: (status: number) => Error;
  /** Returns the error of the caller if there is no answer. */
  readonly lost: (loss: Loss) => Error;
}

/** The network between processes and servers: it delays calls, loses them, and lets them arrive late. */
export class Network {
  readonly #time: VirtualTime;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Sends one call. A dead caller never gets an answer, but its call may still take effect. */
  carry<Value>(exchange: Exchange<Value>): Promise<Value> {
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    if (exchange.process.isDead) return promise;
    if (exchange.fault.kind === "CrashBefore") {
      exchange.process.crash();
      return promise;
    }
    const { signal } = exchange;
    const giveUp = () => reject(exchange.lost("GivenUp"));
    if (signal?.aborted) giveUp();
    else this.#send(exchange, resolve, reject);
    if (signal === undefined) return promise;
    signal.addEventListener("abort", giveUp, { once: true });
    return promise.finally(() => signal.removeEventListener("abort", giveUp));
  }

  #send<Value>(exchange: Exchange<Value>, resolve: (value: Value) => void, reject: (error: Error) => void): void {
    const { process, fault, latencyMs } = exchange;
    const later = (delayMs: number, owner: Process | typeof everlasting, work: () => void) =>
      this.#time.after(delayMs, owner, work);
    const fail = (loss: Loss, delayMs: number) => later(delayMs, process, () => reject(exchange.lost(loss)));
    const loseAnswer = ({ asTimeout }: { readonly asTimeout: boolean }) =>
      asTimeout ? fail("TimedOut", exchange.timeoutMs) : fail("ConnectionLost", 2 * latencyMs);
    const applyLost = (delayMs: number) =>
      later(delayMs, everlasting, () => {
        attempt(exchange.apply);
      });
    const applyAndAnswer = () =>
      later(latencyMs, everlasting, () => {
        const outcome = attempt(exchange.apply);
        if (fault.kind === "CrashAfter") return process.crash();
        later(latencyMs, process, () => (outcome.isDone ? resolve(outcome.value) : reject(outcome.error)));
      });
    switch (fault.kind) {
      case "CrashBefore":
        return;
      case "Refused":
        later(2 * latencyMs, process, () => reject(exchange.refusal(fault)));
        return;
      case "Unreachable":
        fail("Unreachable", latencyMs);
        return;
      case "RequestLost":
        loseAnswer(fault);
        return;
      case "Page":
        if (fault.isApplied) applyLost(latencyMs);
        later(2 * latencyMs, process, () => reject(exchange.page(fault.status)));
        return;
      case "AnswerLost":
        applyLost(latencyMs);
        loseAnswer(fault);
        return;
      case "AppliedLate":
        applyLost(fault.afterMs);
        loseAnswer(fault);
        return;
      case "Paused":
        process.pauseMachine(fault.durationMs);
        applyAndAnswer();
        return;
      case "None":
      case "CrashAfter":
        applyAndAnswer();
    }
  }
}

type Attempt<Value> =
  | { readonly isDone: true; readonly value: Value }
  | { readonly isDone: false; readonly error: Error };

function attempt<Value>(apply: () => Value): Attempt<Value> {
  try {
    return { isDone: true, value: apply() };
  } catch (error) {
    return { isDone: false, error: error as Error };
  }
}
