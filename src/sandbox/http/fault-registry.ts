import { randomUUID } from "node:crypto";
import { controlLimit, requireRoom } from "../engine/limits.ts";
import { type FaultEffect, type FaultSpec, type FaultTarget, isTargetOf } from "./fault.ts";

/** A fault and what has become of it so far. */
export interface FaultState extends FaultSpec {
  readonly id: string;
  /** Matching requests so far, skipped ones included. */
  readonly seen: number;
  /** Requests it was applied to. */
  readonly hits: number;
  /** Answers held back at this moment. */
  readonly held: number;
}

/** One fault on one request. */
export interface FaultHit {
  readonly effect: FaultEffect;
  /** Ends when the fault is released or removed, or when `until` ends. */
  hold(until: Promise<void>): Promise<void>;
}

interface Fault {
  readonly id: string;
  readonly spec: FaultSpec;
  seen: number;
  hits: number;
  readonly letGo: Set<() => void>;
}

/** The faults asked for. The first that fits a request is applied, and only that. */
export class FaultRegistry {
  readonly #faults = new Map<string, Fault>();
  #replaced = new AbortController();

  /** @returns its id. @throws Refusal NotAllowed (too many, those used up and not removed included) */
  add(spec: FaultSpec): string {
    requireRoom(this.#faults.size, controlLimit, "FAULTS");
    const id = randomUUID();
    this.#faults.set(id, { id, spec, seen: 0, hits: 0, letGo: new Set() });
    return id;
  }

  /** In the order in which they were added; those used up too, until they are removed. */
  list(): readonly FaultState[] {
    return [...this.#faults.values()].map(({ id, spec, seen, hits, letGo }) => {
      return { id, ...spec, seen, hits, held: letGo.size };
    });
  }

  /** Counts the request and returns the fault to apply to it, if any. */
  take(target: FaultTarget): FaultHit | undefined {
    for (const fault of this.#faults.values()) {
      if (!isTargetOf(fault.spec.match, target)) continue;
      fault.seen += 1;
      const { skip, times = Number.POSITIVE_INFINITY } = fault.spec.match;
      if (fault.seen <= skip || fault.hits >= times) continue;
      fault.hits += 1;
      return { effect: fault.spec.effect, hold: (until) => holdOn(fault, until) };
    }
    return undefined;
  }

  /** Lets held answers go; later requests are held again. @returns how many, `undefined` for an unknown fault. */
  release(id: string): number | undefined {
    const fault = this.#faults.get(id);
    if (fault === undefined) return undefined;
    const waiting = [...fault.letGo];
    for (const letGo of waiting) letGo();
    return waiting.length;
  }

  /** Removes a fault; what it holds is let go. @returns whether there was one. */
  remove(id: string): boolean {
    this.release(id);
    return this.#faults.delete(id);
  }

  /** Aborted when everything that a request of now could be about has been replaced. */
  get replaced(): AbortSignal {
    return this.#replaced.signal;
  }

  /** For when everything is replaced: requests that are still to be applied late never are. */
  forgetLate(): void {
    this.#replaced.abort();
    this.#replaced = new AbortController();
  }

  /** Removes all. @returns how many there were. */
  clear(): number {
    const ids = [...this.#faults.keys()];
    for (const id of ids) this.remove(id);
    return ids.length;
  }
}

async function holdOn(fault: Fault, until: Promise<void>): Promise<void> {
  const released = Promise.withResolvers<void>();
  fault.letGo.add(released.resolve);
  try {
    await Promise.race([released.promise, until]);
  } finally {
    fault.letGo.delete(released.resolve);
  }
}
