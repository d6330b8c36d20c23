/** One process of the operator in a run. */
import type { Machine } from "../time/machine.ts";
import type { Owner } from "../time/virtual-time.ts";

/** One run of the operator's program. After its death, none of its code runs. */
export class Process implements Owner {
  readonly machine: Machine;
  /** `operator-1 (run 2)`: the name of exactly this process. */
  readonly identity: string;
  isDead = false;
  readonly #onCrash: () => void;

  constructor(machine: Machine, identity: string, onCrash: () => void) {
    this.machine = machine;
    this.identity = identity;
    this.#onCrash = onCrash;
  }

  get pausedUntilMs(): number {
    return this.machine.pausedUntilMs;
  }

  /** Ends the process at once, like SIGKILL. */
  crash(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.#onCrash();
  }

  /** Stops the whole machine for this time. */
  pauseMachine(durationMs: number): void {
    this.machine.pause(durationMs);
  }
}
