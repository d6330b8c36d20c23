/** A Lease in memory whose calls can be lost. */
import { KubernetesError } from "../../../../src/domain/resource-store.ts";
import type { LeaseClaim, LeaseClient, StoredLease } from "../../../../src/kubernetes/lease/lease-client.ts";
import type { FakeClock } from "../../../support/fake-clock.ts";

/** What happens to a call: it reaches the API server or not, and its answer arrives or not. */
export type CallFate = "Answered" | "NotApplied" | "AnswerLost" | "Hangs";

/** One Lease on an API server that loses nothing. The connections to it may lose calls and answers. */
export class FakeLease {
  stored: (StoredLease & { readonly renewTimeMs: number }) | undefined;
  /** The holders after each successful write, in order; "" means a release. */
  readonly holders: string[] = [];
  readonly #clock: FakeClock;
  #version = 0;
  #uid = 0;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  /** Acts like a person who runs `kubectl delete lease`. */
  delete(): void {
    this.stored = undefined;
  }

  /**
   * Makes the connection of one process.
   * @param fate asked for each call
   */
  client(fate: (call: "read" | "write") => CallFate = () => "Answered"): LeaseClient {
    return {
      read: ({ timeoutMs, signal }) => this.#call(fate("read"), { timeoutMs, signal }, () => this.stored),
      write: (claim, over, { timeoutMs, signal }) =>
        this.#call(fate("write"), { timeoutMs, signal }, () => this.#write(claim, over)),
    };
  }

  async #call<Answer>(
    fate: CallFate,
    bounds: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
    apply: () => Answer,
  ): Promise<Answer> {
    if (fate === "NotApplied") {
      throw new KubernetesError("Unavailable", "the API server cannot be reached");
    }
    if (fate === "Answered") {
      return apply();
    }
    if (fate === "AnswerLost") {
      apply();
    }
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = this.#clock.after(bounds.timeoutMs, () => reject(new KubernetesError("TimedOut", "no answer")));
    bounds.signal?.addEventListener("abort", () => {
      timer.cancel();
      reject(new KubernetesError("Unavailable", "given up"));
    });
    return promise;
  }

  #write(claim: LeaseClaim, over: StoredLease | undefined): StoredLease {
    const now = this.stored;
    if (over?.uid !== now?.uid || over?.resourceVersion !== now?.resourceVersion) {
      throw new KubernetesError(now === undefined ? "NotFound" : "Conflict", "another one by now");
    }
    this.#version += 1;
    this.#uid += now === undefined ? 1 : 0;
    const { holder, durationMs, transitions, renewTimeMs } = claim;
    const identity = { uid: now?.uid ?? `uid-${this.#uid}`, resourceVersion: `${this.#version}` };
    this.stored = { ...identity, holder, durationMs, transitions, renewTimeMs };
    this.holders.push(holder);
    return this.stored;
  }
}
