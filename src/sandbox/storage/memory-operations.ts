import type { OperationRecord } from "../engine/records.ts";
import type { Collection, Journal } from "./journal.ts";
import type { OperationPosition, OperationQuery, OperationTable } from "./store.ts";

interface Content {
  readonly records: Map<string, OperationRecord>;
  /** By project, ascending. */
  readonly order: Map<string, OperationPosition[]>;
  readonly idAt: Map<number, string>;
  /** By group, see `groupsOf`; no group is empty. */
  readonly unfinished: Map<string, Map<string, OperationRecord>>;
}

const nothing = (): Content => ({ records: new Map(), order: new Map(), idAt: new Map(), unfinished: new Map() });

/** Operations in memory: per project an array of ids in the order they were made, so that paging is a binary search. */
export class MemoryOperations implements OperationTable, Collection {
  readonly name = "operations";
  readonly #journal: Journal;
  #content = nothing();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  get(id: string): OperationRecord | undefined {
    return this.#content.records.get(id);
  }

  put(operation: OperationRecord): void {
    const before = this.get(operation.id);
    this.#journal.write({
      collection: this,
      key: operation.id,
      apply: () => {
        if (before === undefined) this.#append(operation);
        this.#set(operation);
      },
      undo: () => (before === undefined ? this.#dropLast(operation) : this.#set(before)),
    });
  }

  page(query: OperationQuery): readonly OperationRecord[] {
    const { order: orders, records, idAt } = this.#content;
    const order = orders.get(query.projectId) ?? [];
    const upTo = query.upTo === undefined ? order.length : countBefore(order, justAfter(query.upTo));
    const end = query.after === undefined ? upTo : Math.min(upTo, countBefore(order, query.after));
    const positions = order.slice(Math.max(0, end - query.limit), end).reverse();
    return positions.map((position) => records.get(idAt.get(position.sequence) as string) as OperationRecord);
  }

  unfinishedOfProject(projectId: string): Iterable<OperationRecord> {
    return this.#content.unfinished.get(`project ${projectId}`)?.values() ?? [];
  }

  unfinishedOfEndpoint(endpointId: string): Iterable<OperationRecord> {
    return this.#content.unfinished.get(`endpoint ${endpointId}`)?.values() ?? [];
  }

  /** All of them, in the order of `sequence`. */
  list(): readonly OperationRecord[] {
    return [...this.#content.records.values()].sort((a, b) => a.sequence - b.sequence);
  }

  clear(): void {
    const before = this.#content;
    this.#journal.write({
      collection: this,
      key: undefined,
      apply: () => {
        this.#content = nothing();
      },
      undo: () => {
        this.#content = before;
      },
    });
  }

  valueOf(key: string): unknown {
    return this.get(key);
  }

  #append({ id, projectId, createdMs, sequence }: OperationRecord): void {
    const { order: orders, idAt } = this.#content;
    const order = orders.get(projectId) ?? [];
    order.push({ createdMs, sequence });
    orders.set(projectId, order);
    idAt.set(sequence, id);
  }

  /** Takes back the append that was the last of its project. */
  #dropLast(operation: OperationRecord): void {
    const { order, idAt, records, unfinished } = this.#content;
    order.get(operation.projectId)?.pop();
    idAt.delete(operation.sequence);
    records.delete(operation.id);
    for (const group of groupsOf(operation)) leave(unfinished, group, operation.id);
  }

  #set(operation: OperationRecord): void {
    const { records, unfinished } = this.#content;
    records.set(operation.id, operation);
    const hasEnded = operation.status === "finished" || operation.status === "failed";
    for (const group of groupsOf(operation)) {
      if (hasEnded) leave(unfinished, group, operation.id);
      else unfinished.set(group, (unfinished.get(group) ?? new Map()).set(operation.id, operation));
    }
  }
}

function leave(groups: Map<string, Map<string, OperationRecord>>, group: string, id: string): void {
  const members = groups.get(group);
  members?.delete(id);
  if (members?.size === 0) groups.delete(group);
}

function groupsOf(operation: OperationRecord): readonly string[] {
  const project = `project ${operation.projectId}`;
  return operation.endpointId === undefined ? [project] : [project, `endpoint ${operation.endpointId}`];
}

function justAfter(position: OperationPosition): OperationPosition {
  return { createdMs: position.createdMs, sequence: position.sequence + 1 };
}

/** How many entries of an ascending list come strictly before `position`. */
function countBefore(order: readonly OperationPosition[], position: OperationPosition): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const entry = order[middle] as OperationPosition;
    const isEarlier =
      entry.createdMs < position.createdMs ||
      (entry.createdMs === position.createdMs && entry.sequence < position.sequence);
    if (isEarlier) low = middle + 1;
    else high = middle;
  }
  return low;
}
