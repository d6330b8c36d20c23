import type { OperationRecord } from "../engine/records.ts";
import type { OperationPosition, OperationQuery, OperationTable } from "./store.ts";
import type { UndoJournal } from "./undo-journal.ts";

/** Operations in memory: per project an array of ids in the order they were made, so that paging is a binary search. */
export class MemoryOperations implements OperationTable {
  readonly #journal: UndoJournal;
  readonly #records = new Map<string, OperationRecord>();
  readonly #order = new Map<string, OperationPosition[]>();
  readonly #idAt = new Map<number, string>();
  readonly #unfinished = new Map<string, Map<string, OperationRecord>>();

  constructor(journal: UndoJournal) {
    this.#journal = journal;
  }

  get(id: string): OperationRecord | undefined {
    return this.#records.get(id);
  }

  put(operation: OperationRecord): void {
    const before = this.#records.get(operation.id);
    if (before === undefined) this.#append(operation);
    else this.#journal.note(() => this.#set(before));
    this.#set(operation);
  }

  page(query: OperationQuery): readonly OperationRecord[] {
    const order = this.#order.get(query.projectId) ?? [];
    const upTo = query.upTo === undefined ? order.length : countBefore(order, justAfter(query.upTo));
    const end = query.after === undefined ? upTo : Math.min(upTo, countBefore(order, query.after));
    const positions = order.slice(Math.max(0, end - query.limit), end).reverse();
    return positions.map(
      (position) => this.#records.get(this.#idAt.get(position.sequence) as string) as OperationRecord,
    );
  }

  unfinishedOfProject(projectId: string): Iterable<OperationRecord> {
    return this.#unfinished.get(`project ${projectId}`)?.values() ?? [];
  }

  unfinishedOfEndpoint(endpointId: string): Iterable<OperationRecord> {
    return this.#unfinished.get(`endpoint ${endpointId}`)?.values() ?? [];
  }

  /** All of them, in the order of `sequence`. */
  list(): readonly OperationRecord[] {
    return [...this.#records.values()].sort((a, b) => a.sequence - b.sequence);
  }

  clear(): void {
    for (const map of [this.#records, this.#order, this.#idAt, this.#unfinished]) map.clear();
  }

  #append(operation: OperationRecord): void {
    const order = this.#order.get(operation.projectId) ?? [];
    order.push({ createdMs: operation.createdMs, sequence: operation.sequence });
    this.#order.set(operation.projectId, order);
    this.#idAt.set(operation.sequence, operation.id);
    this.#journal.note(() => {
      order.pop();
      this.#idAt.delete(operation.sequence);
      this.#records.delete(operation.id);
      for (const group of groupsOf(operation)) this.#unfinished.get(group)?.delete(operation.id);
    });
  }

  #set(operation: OperationRecord): void {
    this.#records.set(operation.id, operation);
    const ended = operation.status === "finished" || operation.status === "failed";
    for (const group of groupsOf(operation)) {
      const members = this.#unfinished.get(group) ?? new Map<string, OperationRecord>();
      if (ended) members.delete(operation.id);
      else members.set(operation.id, operation);
      if (members.size === 0) this.#unfinished.delete(group);
      else this.#unfinished.set(group, members);
    }
  }
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
