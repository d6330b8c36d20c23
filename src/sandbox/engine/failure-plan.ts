import type { Action } from "./records.ts";
import { controlLimit, requireRoom } from "./settings.ts";

/** Operations that a test wants to fail. */
export interface PlannedFailure {
  readonly action: Action;
  /** `undefined`: of any endpoint. */
  readonly endpointId: string | undefined;
  /** How many of them. */
  readonly times: number;
  /** What the operation's `error` says, where the profile shows it. */
  readonly error: string;
}

/** A planned failure that is not used up yet. */
export interface PlannedFailureState extends PlannedFailure {
  /** Rises with every failure that is planned. */
  readonly id: string;
}

/** The planned failures that are not used up. The first that fits an operation is used. */
export class FailurePlan {
  #planned: readonly PlannedFailureState[] = [];
  #latest = 0;

  /** @throws Refusal NotAllowed */
  add(failure: PlannedFailure): void {
    requireRoom(this.#planned.length, controlLimit, "PLANNED_FAILURES");
    this.#latest += 1;
    this.#planned = [...this.#planned, { ...failure, id: String(this.#latest) }];
  }

  /** In the order in which they were planned; `times` is how many are left. */
  list(): readonly PlannedFailureState[] {
    return this.#planned;
  }

  /** @returns whether there was one. */
  remove(id: string): boolean {
    const before = this.#planned;
    this.#planned = before.filter((failure) => failure.id !== id);
    return this.#planned.length < before.length;
  }

  /** The error for an operation that is being made; `undefined`: it will succeed. Uses one failure up. */
  take(action: Action, endpointId: string | undefined): string | undefined {
    const fits = (failure: PlannedFailure): boolean =>
      failure.action === action && (failure.endpointId === undefined || failure.endpointId === endpointId);
    const found = this.#planned.find(fits);
    if (found === undefined) return undefined;
    this.#planned = this.#planned.flatMap((failure) => {
      if (failure !== found) return [failure];
      return failure.times > 1 ? [{ ...failure, times: failure.times - 1 }] : [];
    });
    return found.error;
  }

  clear(): void {
    this.#planned = [];
  }
}
