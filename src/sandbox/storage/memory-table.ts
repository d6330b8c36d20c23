import type { Table } from "./store.ts";
import type { UndoJournal } from "./undo-journal.ts";

/** What every record of a table has. */
export interface MemoryRecord {
  readonly id: string;
  readonly sequence: number;
}

/** Records by id in memory, with groups such as "of one project". Lists come in the order of `sequence`. */
export class MemoryTable<R extends MemoryRecord> implements Table<R> {
  readonly #journal: UndoJournal;
  readonly #records = new Map<string, R>();
  readonly #groupings: readonly ((record: R) => string)[];
  readonly #groups: readonly Map<string, Map<string, R>>[];

  constructor(journal: UndoJournal, groupings: readonly ((record: R) => string)[] = []) {
    this.#journal = journal;
    this.#groupings = groupings;
    this.#groups = groupings.map(() => new Map());
  }

  get(id: string): R | undefined {
    return this.#records.get(id);
  }

  put(record: R): void {
    const before = this.#records.get(record.id);
    this.#journal.note(() => (before === undefined ? this.#drop(record.id) : this.#set(before)));
    this.#set(record);
  }

  remove(id: string): void {
    const before = this.#records.get(id);
    if (before === undefined) return;
    this.#journal.note(() => this.#set(before));
    this.#drop(id);
  }

  list(): readonly R[] {
    return inSequence(this.#records.values());
  }

  /** The members of one group of the grouping with this index, empty when there are none. */
  group(grouping: number, key: string): readonly R[] {
    return inSequence(this.#groups[grouping]?.get(key)?.values() ?? []);
  }

  clear(): void {
    this.#records.clear();
    for (const group of this.#groups) group.clear();
  }

  #set(record: R): void {
    const before = this.#records.get(record.id);
    this.#records.set(record.id, record);
    this.#groupings.forEach((groupOf, index) => {
      const groups = this.#groups[index] as Map<string, Map<string, R>>;
      const key = groupOf(record);
      if (before !== undefined && groupOf(before) !== key) removeFrom(groups, groupOf(before), record.id);
      const members = groups.get(key);
      if (members === undefined) groups.set(key, new Map([[record.id, record]]));
      else members.set(record.id, record);
    });
  }

  #drop(id: string): void {
    const before = this.#records.get(id);
    if (before === undefined) return;
    this.#records.delete(id);
    this.#groupings.forEach((groupOf, index) => {
      removeFrom(this.#groups[index] as Map<string, Map<string, R>>, groupOf(before), id);
    });
  }
}

/** Almost always sorted already, which sorting notices. */
function inSequence<R extends MemoryRecord>(records: Iterable<R>): readonly R[] {
  return [...records].sort((a, b) => a.sequence - b.sequence);
}

function removeFrom<R>(groups: Map<string, Map<string, R>>, key: string, id: string): void {
  const members = groups.get(key);
  members?.delete(id);
  if (members?.size === 0) groups.delete(key);
}
