import type { Collection, Journal } from "./journal.ts";
import type { Table } from "./store.ts";

/** What every record of a table has. */
export interface MemoryRecord {
  readonly id: string;
  readonly sequence: number;
}

/** What a table is called, and by what its records are grouped, such as "of one project". */
export interface TableShape<R> {
  readonly name: string;
  readonly groupings?: readonly ((record: R) => string)[];
}

interface Group<R> {
  readonly members: Map<string, R>;
  /** The members in order; `undefined`: to be sorted again. Never changed once handed out. */
  sorted: readonly R[] | undefined;
}

interface Content<R> {
  readonly all: Group<R>;
  /** By grouping, then by key; no group is empty. */
  readonly groups: readonly Map<string, Group<R>>[];
}

/**
 * Records by id in memory, with groups. Lists come in the order of `sequence`; a list is the same array for as long as
 * nothing in it has changed.
 */
export class MemoryTable<R extends MemoryRecord> implements Table<R>, Collection {
  readonly name: string;
  readonly #journal: Journal;
  readonly #groupings: readonly ((record: R) => string)[];
  #content: Content<R>;

  constructor(journal: Journal, { name, groupings = [] }: TableShape<R>) {
    this.name = name;
    this.#journal = journal;
    this.#groupings = groupings;
    this.#content = this.#nothing();
  }

  get(id: string): R | undefined {
    return this.#content.all.members.get(id);
  }

  put(record: R): void {
    const before = this.get(record.id);
    this.#journal.write({
      collection: this,
      key: record.id,
      apply: () => this.#set(record),
      undo: () => (before === undefined ? this.#drop(record.id) : this.#set(before)),
    });
  }

  remove(id: string): void {
    const before = this.get(id);
    if (before === undefined) return;
    const undo = () => this.#set(before);
    this.#journal.write({ collection: this, key: id, apply: () => this.#drop(id), undo });
  }

  list(): readonly R[] {
    return inSequence(this.#content.all);
  }

  /** The members of one group of the grouping with this index, empty when there are none. */
  group(grouping: number, key: string): readonly R[] {
    const group = this.#content.groups[grouping]?.get(key);
    return group === undefined ? [] : inSequence(group);
  }

  clear(): void {
    const before = this.#content;
    this.#journal.write({
      collection: this,
      key: undefined,
      apply: () => {
        this.#content = this.#nothing();
      },
      undo: () => {
        this.#content = before;
      },
    });
  }

  valueOf(key: string): unknown {
    return this.get(key);
  }

  #nothing(): Content<R> {
    return { all: emptyGroup(), groups: this.#groupings.map(() => new Map()) };
  }

  #set(record: R): void {
    const before = this.get(record.id);
    enter(this.#content.all, record);
    this.#groupings.forEach((groupOf, index) => {
      const groups = this.#content.groups[index] as Map<string, Group<R>>;
      const key = groupOf(record);
      if (before !== undefined && groupOf(before) !== key) leave(groups, groupOf(before), record.id);
      const group = groups.get(key) ?? emptyGroup();
      groups.set(key, group);
      enter(group, record);
    });
  }

  #drop(id: string): void {
    const { all, groups } = this.#content;
    const record = all.members.get(id);
    if (record === undefined) return;
    all.members.delete(id);
    all.sorted = undefined;
    this.#groupings.forEach((groupOf, index) => {
      leave(groups[index] as Map<string, Group<R>>, groupOf(record), id);
    });
  }
}

function emptyGroup<R>(): Group<R> {
  return { members: new Map(), sorted: [] };
}

/** Almost always sorted already, which sorting notices. */
function inSequence<R extends MemoryRecord>(group: Group<R>): readonly R[] {
  group.sorted ??= [...group.members.values()].sort((a, b) => a.sequence - b.sequence);
  return group.sorted;
}

function enter<R extends MemoryRecord>(group: Group<R>, record: R): void {
  group.members.set(record.id, record);
  group.sorted = undefined;
}

function leave<R extends MemoryRecord>(groups: Map<string, Group<R>>, key: string, id: string): void {
  const group = groups.get(key);
  if (group === undefined) return;
  group.members.delete(id);
  group.sorted = undefined;
  if (group.members.size === 0) groups.delete(key);
}
