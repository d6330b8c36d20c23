/** Remembers earlier states of records, so that lists can show the state of some time ago (the list lag). */

interface Change<R> {
  readonly atMs: number;
  readonly id: string;
  /** The record before the change; `undefined`: it did not exist. */
  readonly before: R | undefined;
}

/** The history begins when the lag is set, so until it has passed once, lists show the state of that moment. */
export class ListHistory<R extends { readonly id: string }> {
  #lagMs = 0;
  #changes: Change<R>[] = [];

  /** Sets the lag in milliseconds. 0 switches it off and forgets everything. */
  setLag(lagMs: number): void {
    this.#lagMs = lagMs;
    if (lagMs === 0) this.#changes = [];
  }

  /** Must be called before each change. */
  note(atMs: number, id: string, before: R | undefined): void {
    if (this.#lagMs === 0) return;
    const keepFromMs = atMs - this.#lagMs;
    const oldest = this.#changes[0];
    if (oldest !== undefined && oldest.atMs <= keepFromMs) {
      this.#changes = this.#changes.filter((change) => change.atMs > keepFromMs);
    }
    this.#changes.push({ atMs, id, before });
  }

  /** Returns the records that have changed since, as they were then; `undefined`: it did not exist. */
  changedSince(asOfMs: number): ReadonlyMap<string, R | undefined> {
    const first = new Map<string, R | undefined>();
    for (const change of this.#changes) {
      if (change.atMs > asOfMs && !first.has(change.id)) first.set(change.id, change.before);
    }
    return first;
  }
}
