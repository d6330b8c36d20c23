/** Tracks the real work of operations, such as starting a PostgreSQL server. */
import type { ComputeDriver } from "./compute-driver.ts";
import type { OperationRecord } from "./records.ts";

/** The result of an operation's real work; `error` is `undefined` if it succeeded. */
export interface WorkOutcome {
  readonly error: string | undefined;
}

const success: WorkOutcome = { error: undefined };

/**
 * Tracks the real work of operations, from its start to its result. Without a driver, or for an operation with a
 * planned failure, there is no real work, and the result is known at once.
 */
export class RealWork {
  readonly #driver: ComputeDriver | undefined;
  #begun = new Map<string, WorkOutcome | "Running">();
  readonly #onEnd: (operationId: string) => void;

  /**
   * Makes the tracker.
   * @param onEnd called when the work of an operation has ended, and never while a call of the engine runs
   */
  constructor(driver: ComputeDriver | undefined, onEnd: (operationId: string) => void) {
    this.#driver = driver;
    this.#onEnd = onEnd;
  }

  get isReal(): boolean {
    return this.#driver !== undefined;
  }

  /**
   * Returns why the driver cannot recover the data of a time; `undefined`: it can, or there is no driver.
   * @see ComputeDriver.pastProblem
   */
  pastProblem(branchId: string, timeMs: number): string | undefined {
    return this.#driver?.pastProblem?.(branchId, timeMs);
  }

  /**
   * Begins the real work of a running operation. It does nothing without a driver, for an operation with a planned
   * failure, and on a second call for the same operation.
   */
  begin(operation: OperationRecord): void {
    if (this.#driver === undefined || operation.plannedError !== undefined || this.#begun.has(operation.id)) return;
    const { id } = operation;
    const begun = this.#begun;
    begun.set(id, "Running");
    const end = (outcome: WorkOutcome): void => {
      if (begun !== this.#begun || !begun.has(id)) return;
      begun.set(id, outcome);
      this.#onEnd(id);
    };
    this.#driver.carryOut(operation).then(
      () => end(success),
      (error: unknown) => end({ error: error instanceof Error ? error.message : String(error) }),
    );
  }

  /** Returns the result of an operation's work; `undefined`: the work has not begun or has not ended. */
  outcomeOf({ id, plannedError }: OperationRecord): WorkOutcome | undefined {
    if (plannedError !== undefined) return { error: plannedError };
    if (this.#driver === undefined) return success;
    const outcome = this.#begun.get(id);
    return outcome === "Running" ? undefined : outcome;
  }

  forget(operationId: string): void {
    this.#begun.delete(operationId);
  }

  /**
   * Forgets all work, because all records are replaced. The result of running work is ignored, also if work for the same
   * operation id begins again.
   */
  forgetAll(): void {
    this.#begun = new Map();
  }

  isInUse(endpointId: string): boolean {
    return this.#driver?.isInUse(endpointId) ?? false;
  }
}
