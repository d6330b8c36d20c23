/** A fault, and the requests that it applies to. */
import type { Fault } from "./fault.ts";
import { isMatch, type ProxiedRequest, type RequestMatch } from "./proxied-request.ts";

/** A fault, and the requests that it applies to. */
export interface FaultRule {
  readonly match: RequestMatch;
  readonly fault: Fault;
  /** How often it applies. @default until it is removed */
  readonly times?: number;
}

/** A rule in force. */
export class InjectedFault {
  readonly rule: FaultRule;
  /** Resolves when the fault is removed. */
  readonly lifted: Promise<void>;
  readonly #lift: () => void;
  #left: number;
  #bites = 0;

  constructor(rule: FaultRule) {
    this.rule = rule;
    this.#left = rule.times ?? Number.POSITIVE_INFINITY;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.lifted = promise;
    this.#lift = resolve;
  }

  /** How often it had an effect on a client. A fault that still waits for its moment had none. */
  get bites(): number {
    return this.#bites;
  }

  /**
   * Removes the fault for later requests. Connections that it has broken stay broken, and requests that it delays are
   * passed on.
   */
  lift(): void {
    this.#left = 0;
    this.#lift();
  }

  /** Whether it applies to this request. If so, one of its times is used up. */
  draw(request: ProxiedRequest): boolean {
    if (this.#left <= 0 || !isMatch(request, this.rule.match)) return false;
    this.#left -= 1;
    return true;
  }

  /** Notes that the fault had an effect. */
  noteBite(): void {
    this.#bites += 1;
  }
}
