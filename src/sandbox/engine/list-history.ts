interface Change<R> {
  readonly atMs: number;
  readonly id: string;
  /** `undefined`: it did not exist. */
  readonly before: R | undefined;
}

/**
 * Lets lists show the past: remembers, for as long as the lag asks for, what each record was before it changed.
 *
 * What was before the lag was switched on is not known: until the lag has passed once, lists show that moment.
 */
export class ListHistory<R extends { readonly id: string }> {
  #lagMs = 0;
  #changes: Change<R>[] = [];

  /** 0 switches it off and forgets everything. */
  setLag(lagMs: number): void {
    this.#lagMs = lagMs;
    if (lagMs === 0) this.#changes = [];
  }

  /** To be called before each change, with the record as it was. */
  note(atMs: number, id: string, before: R | undefined): void {
    if (this.#lagMs === 0) return;
    const keepFromMs = atMs - this.#lagMs;
    const oldest = this.#changes[0];
    if (oldest !== undefined && oldest.atMs <= keepFromMs) {
      this.#changes = this.#changes.filter((change) => change.atMs > keepFromMs);
    }
    this.#changes.push({ atMs, id, before });
  }

  /** The records that have changed since `asOfMs`, as they were then; `undefined` for one that did not exist. */
  changedSince(asOfMs: number): ReadonlyMap<string, R | undefined> {
    const first = new Map<string, R | undefined>();
    for (const change of this.#changes) {
      if (change.atMs > asOfMs && !first.has(change.id)) first.set(change.id, change.before);
    }
    return first;
  }
}
