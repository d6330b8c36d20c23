/** The log of what happened in a run. */
import { createHash } from "node:crypto";

/** One event of a run. */
export interface LogEntry {
  /** True milliseconds. */
  readonly atMs: number;
  /** The actor of the event: `operator-1`, `API server`, `control plane`, `user`, `network`. */
  readonly actor: string;
  /** Plain words; the verb comes first: `stores status of shop/orders`. */
  readonly text: string;
}

/** Everything that happened in a run, in order. The same seed gives the same log, byte by byte. */
export class EventLog {
  readonly entries: LogEntry[] = [];
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  add(actor: string, text: string): void {
    this.entries.push({ atMs: this.#nowMs(), actor, text });
  }

  /** A hash of every entry. */
  digest(): string {
    const hash = createHash("sha256");
    for (const { atMs, actor, text } of this.entries) hash.update(`${atMs}\t${actor}\t${text}\n`);
    return hash.digest("hex");
  }
}
