/** Planned failures: a test plans that coming operations end as `failed`. */
import type { Action } from "./records.ts";
import { controlLimit, requireRoom } from "./settings.ts";

export interface PlannedFailure {
  readonly action: Action;
  /** `undefined`: any endpoint, and operations without an endpoint. */
  readonly endpointId: string | undefined;
  readonly times: number;
  readonly error: string;
}

/** A planned failure that is not used up yet. Its `times` is the number of operations that will still fail. */
export interface PlannedFailureState extends PlannedFailure {
  readonly id: string;
}

/**
 * The planned failures that are not used up. If several fit a new operation, the first one makes the operation fail.
 */
export class FailurePlan {
  #planned: readonly PlannedFailureState[] = [];
  #latest = 0;

  add(failure: PlannedFailure): void {
    requireRoom(this.#planned.length, controlLimit, "PLANNED_FAILURES");
    this.#latest += 1;
    this.#planned = [...this.#planned, { ...failure, id: String(this.#latest) }];
  }

  list(): readonly PlannedFailureState[] {
    return this.#planned;
  }

  remove(id: string): boolean {
    const before = this.#planned;
    this.#planned = before.filter((failure) => failure.id !== id);
    return this.#planned.length < before.length;
  }

  /** Returns the error for a new operation, and counts one use of the planned failure. */
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
