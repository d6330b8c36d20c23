/** A fault, and the requests that it applies to. */
import type { Fault } from "./fault.ts";
import { isMatch, type ProxiedRequest, type RequestMatch } from "./proxied-request.ts";

/** A fault, and whom it hits. */
export interface FaultRule {
  readonly match: RequestMatch;
  readonly fault: Fault;
  /** @default for good, until it is lifted */
  readonly times?: number;
}

/** A rule in force. */
export class InjectedFault {
  readonly rule: FaultRule;
  /** Settles when it is lifted. */
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

  /** How often it has really done something to a client; a fault that waits for its moment has not. */
  get bites(): number {
    return this.#bites;
  }

  /** Ends the fault for later requests. Connections that it has broken stay broken. Requests that it delays continue. */
  lift(): void {
    this.#left = 0;
    this.#lift();
  }

  /** Whether it is to hit this request; one of its times is used up then. */
  draw(request: ProxiedRequest): boolean {
    if (this.#left <= 0 || !isMatch(request, this.rule.match)) return false;
    this.#left -= 1;
    return true;
  }

  /** Reported by the code that carries the fault out. */
  noteBite(): void {
    this.#bites += 1;
  }
}
