import type { OperationRecord } from "../engine/records.ts";
import type { Collection, Journal } from "./journal.ts";
import type { OperationPosition, OperationQuery, OperationTable } from "./store.ts";

interface Content {
  readonly records: Map<string, OperationRecord>;
  /** By project, ascending. */
  readonly order: Map<string, Place[]>;
  /** By project. */
  readonly unfinished: Map<string, Map<string, OperationRecord>>;
  /** By endpoint; no member is empty. */
  readonly unfinishedOfEndpoint: Map<string, Map<string, OperationRecord>>;
}

interface Place extends OperationPosition {
  readonly id: string;
}

const nothing = (): Content => {
  return { records: new Map(), order: new Map(), unfinished: new Map(), unfinishedOfEndpoint: new Map() };
};

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
    const { order: orders, records } = this.#content;
    const order = orders.get(query.projectId) ?? [];
    const upTo = query.upTo === undefined ? order.length : countBefore(order, justAfter(query.upTo));
    const end = query.after === undefined ? upTo : Math.min(upTo, countBefore(order, query.after));
    const positions = order.slice(Math.max(0, end - query.limit), end).reverse();
    return positions.map(({ id }) => records.get(id) as OperationRecord);
  }

  unfinishedOfProject(projectId: string): Iterable<OperationRecord> {
    return this.#content.unfinished.get(projectId)?.values() ?? [];
  }

  unfinishedOfEndpoint(endpointId: string): Iterable<OperationRecord> {
    return this.#content.unfinishedOfEndpoint.get(endpointId)?.values() ?? [];
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
    const { order: orders } = this.#content;
    const order = orders.get(projectId);
    if (order === undefined) orders.set(projectId, [{ createdMs, sequence, id }]);
    else order.push({ createdMs, sequence, id });
  }

  /** Takes back the append that was the last of its project. */
  #dropLast(operation: OperationRecord): void {
    const { order, records } = this.#content;
    order.get(operation.projectId)?.pop();
    records.delete(operation.id);
    this.#leave(operation);
  }

  #set(operation: OperationRecord): void {
    const { records, unfinished, unfinishedOfEndpoint } = this.#content;
    records.set(operation.id, operation);
    if (operation.status === "finished" || operation.status === "failed") {
      this.#leave(operation);
      return;
    }
    enter(unfinished, operation.projectId, operation);
    if (operation.endpointId !== undefined) enter(unfinishedOfEndpoint, operation.endpointId, operation);
  }

  #leave({ id, projectId, endpointId }: OperationRecord): void {
    const { unfinished, unfinishedOfEndpoint } = this.#content;
    unfinished.get(projectId)?.delete(id);
    const members = endpointId === undefined ? undefined : unfinishedOfEndpoint.get(endpointId);
    members?.delete(id);
    if (members?.size === 0) unfinishedOfEndpoint.delete(endpointId as string);
  }
}

function enter(groups: Map<string, Map<string, OperationRecord>>, group: string, operation: OperationRecord): void {
  const members = groups.get(group);
  if (members === undefined) groups.set(group, new Map([[operation.id, operation]]));
  else members.set(operation.id, operation);
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
