/** An entry of a line. */
export interface LineEntry {
  /** Unique in its line. */
  readonly id: string;
  /** Groups take turns. */
  readonly group: string;
}

/**
 * A line of entries whose groups take turns: first in, first out within a group. No entry waits behind a whole burst of
 * another group. With one group it is an ordinary queue.
 */
export class FairLine<Entry extends LineEntry> {
  /** In the order of their turns. No group is empty. */
  readonly #groups = new Map<string, Map<string, Entry>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get({ group, id }: LineEntry): Entry | undefined {
    return this.#groups.get(group)?.get(id);
  }

  /** Joins its group at the end, unless it waits already. A group that had nothing waiting has its turn after all others. */
  join(entry: Entry): void {
    if (this.get(entry) !== undefined) {
      return;
    }
    const members = this.#groups.get(entry.group) ?? new Map<string, Entry>();
    members.set(entry.id, entry);
    this.#groups.set(entry.group, members);
    this.#size++;
  }

  /** Joins its group at the front, unless it waits already. The turn of the group does not change. */
  joinFirst(entry: Entry): void {
    const others = this.#groups.get(entry.group);
    if (others === undefined || others.has(entry.id)) {
      this.join(entry);
      return;
    }
    this.#groups.set(entry.group, new Map([[entry.id, entry], ...others]));
    this.#size++;
  }

  /** Takes the entry out, wherever it stands, and returns it. */
  leave({ group, id }: LineEntry): Entry | undefined {
    const members = this.#groups.get(group);
    const entry = members?.get(id);
    if (members === undefined || entry === undefined) {
      return undefined;
    }
    members.delete(id);
    this.#size--;
    if (members.size === 0) {
      this.#groups.delete(group);
    }
    return entry;
  }

  /** Takes out the first of the group whose turn it is; that group's next turn comes after all others. */
  takeNext(): Entry | undefined {
    for (const [group, members] of this.#groups) {
      for (const entry of members.values()) {
        this.leave(entry);
        if (this.#groups.delete(group)) {
          this.#groups.set(group, members);
        }
        return entry;
      }
    }
    return undefined;
  }

  clear(): void {
    this.#groups.clear();
    this.#size = 0;
  }
}
