/** Tracks the real work of operations, such as starting a PostgreSQL server. */
import type { ComputeDriver } from "./compute-driver.ts";
import type { OperationRecord } from "./records.ts";

export interface WorkOutcome {
  readonly error: string | undefined;
}

const success: WorkOutcome = { error: undefined };

/** Without a driver, or with a planned failure, there is no real work, and the result is known at once. */
export class RealWork {
  readonly #driver: ComputeDriver | undefined;
  #begun = new Map<string, WorkOutcome | "Running">();
  readonly #onEnd: (operationId: string) => void;

  /** @param onEnd called when work has ended, and never while a call of the engine runs */
  constructor(driver: ComputeDriver | undefined, onEnd: (operationId: string) => void) {
    this.#driver = driver;
    this.#onEnd = onEnd;
  }

  get isReal(): boolean {
    return this.#driver !== undefined;
  }

  pastProblem(branchId: string, timeMs: number): string | undefined {
    return this.#driver?.pastProblem?.(branchId, timeMs);
  }

  /** A second call for the same operation does nothing. */
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

  /** `undefined`: the work has not begun or has not ended. */
  outcomeOf({ id, plannedError }: OperationRecord): WorkOutcome | undefined {
    if (plannedError !== undefined) return { error: plannedError };
    if (this.#driver === undefined) return success;
    const outcome = this.#begun.get(id);
    return outcome === "Running" ? undefined : outcome;
  }

  forget(operationId: string): void {
    this.#begun.delete(operationId);
  }

  /** The result of running work is ignored, also if work for the same id begins again. */
  forgetAll(): void {
    this.#begun = new Map();
  }

  isInUse(endpointId: string): boolean {
    return this.#driver?.isInUse(endpointId) ?? false;
  }
}
