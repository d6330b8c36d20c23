import type { BranchRecord, EndpointRecord, KeyRecord, ProjectRecord } from "../engine/records.ts";
import { MemoryOperations } from "./memory-operations.ts";
import { MemoryTable } from "./memory-table.ts";
import type { Store } from "./store.ts";
import { TimerQueue } from "./timer-queue.ts";
import { UndoJournal } from "./undo-journal.ts";

/** A store that forgets everything when the process ends. */
export class MemoryStore implements Store {
  readonly #journal = new UndoJournal();
  readonly #counters = new Map<string, number>();
  readonly projects = new MemoryTable<ProjectRecord>(this.#journal);
  readonly branches = new BranchTable(this.#journal);
  readonly endpoints = new EndpointTable(this.#journal);
  readonly operations = new MemoryOperations(this.#journal);
  readonly keys = new MemoryTable<KeyRecord>(this.#journal);
  readonly timers = new TimerQueue(this.#journal);
  readonly counters = {
    get: (name: string): number => this.#counters.get(name) ?? 0,
    set: (name: string, value: number): void => {
      const before = this.counters.get(name);
      this.#journal.note(() => this.#counters.set(name, before));
      this.#counters.set(name, value);
    },
  };

  transaction<T>(work: () => T): T {
    return this.#journal.run(work);
  }

  clear(): void {
    const parts = [this.projects, this.branches, this.endpoints, this.operations, this.keys, this.timers];
    for (const part of parts) part.clear();
    this.#counters.clear();
  }
}

class BranchTable extends MemoryTable<BranchRecord> {
  constructor(journal: UndoJournal) {
    super(journal, [(branch) => branch.projectId]);
  }

  ofProject(projectId: string): readonly BranchRecord[] {
    return this.group(0, projectId);
  }
}

class EndpointTable extends MemoryTable<EndpointRecord> {
  constructor(journal: UndoJournal) {
    super(journal, [(endpoint) => endpoint.projectId, (endpoint) => endpoint.branchId]);
  }

  ofProject(projectId: string): readonly EndpointRecord[] {
    return this.group(0, projectId);
  }

  ofBranch(branchId: string): readonly EndpointRecord[] {
    return this.group(1, branchId);
  }
}
