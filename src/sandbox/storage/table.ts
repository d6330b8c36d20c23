/** Holds the records of one kind in memory, in order and in groups. */
import type { Tracked, Transactions } from "./transactions.ts";

/** The name of a table, and how its records are found and ordered. */
export interface TableShape<R> {
  readonly name: string;
  readonly keyOf: (record: R) => string;
  /** Compares two records: a total order, 0 only for two versions of the same record. */
  readonly order: (a: R, b: R) => number;
  /** Each function returns the group of a record, such as its project; `undefined`: no group. */
  readonly groupings?: readonly ((record: R) => string | undefined)[];
}

/** Records in memory by key, with groups. All groups have the same order. A change replaces the whole record. */
export class Table<R> implements Tracked {
  readonly name: string;
  readonly #transactions: Transactions;
  readonly #shape: TableShape<R>;
  readonly #records = new Map<string, R>();
  readonly #all: OrderedList<R>;
  readonly #groups: readonly Map<string, OrderedList<R>>[];

  constructor(transactions: Transactions, shape: TableShape<R>) {
    this.name = shape.name;
    this.#transactions = transactions;
    this.#shape = shape;
    this.#all = new OrderedList(shape.order);
    this.#groups = (shape.groupings ?? []).map(() => new Map());
  }

  get(key: string): R | undefined {
    return this.#records.get(key);
  }

  put(record: R): void {
    this.#transactions.write(this, this.#shape.keyOf(record), record);
  }

  /** Removes a record. If no record has this key, nothing happens. */
  remove(key: string): void {
    if (this.#records.has(key)) this.#transactions.write(this, key, undefined);
  }

  clear(): void {
    for (const key of [...this.#records.keys()]) this.remove(key);
  }

  /** Returns all records in order. It returns the same array until a record changes. */
  list(): readonly R[] {
    return this.#all.list();
  }

  /** Returns the first record in order; `undefined`: the table is empty. */
  first(): R | undefined {
    return this.#all.members[0];
  }

  /**
   * Returns the records of one group in order; empty if there is no such group. It returns the same array until one of
   * them changes.
   */
  protected group(grouping: number, group: string): readonly R[] {
    return this.#groups[grouping]?.get(group)?.list() ?? [];
  }

  /**
   * Returns the last `limit` records of a group for which `isWithin` holds, in reverse order.
   * @param isWithin if it holds for a record, it must hold for every record before it.
   */
  protected lastOf(
    grouping: number,
    group: string,
    { limit, isWithin }: { readonly limit: number; readonly isWithin: (record: R) => boolean },
  ): readonly R[] {
    const members = this.#groups[grouping]?.get(group)?.members ?? [];
    const end = countWhile(members, isWithin);
    return members.slice(Math.max(0, end - limit), end).reverse();
  }

  replace(key: string, after: R | undefined): void {
    const before = this.#records.get(key);
    if (after === undefined) this.#records.delete(key);
    else this.#records.set(key, after);
    this.#all.replace(before, after);
    this.#shape.groupings?.forEach((groupOf, index) => {
      const groups = this.#groups[index] as Map<string, OrderedList<R>>;
      const [left, entered] = [before && groupOf(before), after && groupOf(after)];
      if (left === entered) {
        if (left !== undefined) groups.get(left)?.replace(before, after);
        return;
      }
      if (left !== undefined && groups.get(left)?.replace(before, undefined).members.length === 0) groups.delete(left);
      if (entered === undefined) return;
      const group = groups.get(entered) ?? new OrderedList(this.#shape.order);
      groups.set(entered, group.replace(undefined, after));
    });
  }
}

/**
 * A list of records in order. Almost every new record comes last, where adding is cheap. Adding a record elsewhere
 * moves every record behind it.
 */
class OrderedList<R> {
  /** The records. This array changes in place, so it is never returned to a caller. */
  readonly members: R[] = [];
  readonly #order: (a: R, b: R) => number;
  #copy: readonly R[] | undefined;

  constructor(order: (a: R, b: R) => number) {
    this.#order = order;
  }

  list(): readonly R[] {
    this.#copy ??= [...this.members];
    return this.#copy;
  }

  /** Removes `before` and inserts `after`. Either may be `undefined`. */
  replace(before: R | undefined, after: R | undefined): this {
    this.#copy = undefined;
    if (before !== undefined && after !== undefined && this.#order(before, after) === 0) {
      this.members[this.#placeOf(after)] = after;
      return this;
    }
    if (before !== undefined) this.members.splice(this.#placeOf(before), 1);
    if (after !== undefined) this.#insert(after);
    return this;
  }

  #insert(record: R): void {
    const last = this.members.at(-1);
    if (last === undefined || this.#order(last, record) < 0) this.members.push(record);
    else this.members.splice(this.#placeOf(record), 0, record);
  }

  #placeOf(record: R): number {
    return countWhile(this.members, (member) => this.#order(member, record) < 0);
  }
}

/**
 * Returns how many records at the start of a list fulfil a condition. If a record does not fulfil it, no later record
 * may fulfil it, because this is a binary search.
 */
function countWhile<R>(records: readonly R[], holds: (record: R) => boolean): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(records[middle] as R)) low = middle + 1;
    else high = middle;
  }
  return low;
}
