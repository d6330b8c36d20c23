/** Remembers how to take back the writes of a transaction that fails. */
export class UndoJournal {
  #undos: (() => void)[] | undefined;

  /** Runs `work`; when it throws, everything noted during it is undone, last first. Nested calls join the outer one. */
  run<T>(work: () => T): T {
    if (this.#undos !== undefined) return work();
    const undos: (() => void)[] = [];
    this.#undos = undos;
    try {
      return work();
    } catch (error) {
      for (const undo of undos.reverse()) undo();
      throw error;
    } finally {
      this.#undos = undefined;
    }
  }

  /** Outside a transaction there is nothing to take back. */
  note(undo: () => void): void {
    this.#undos?.push(undo);
  }
}
