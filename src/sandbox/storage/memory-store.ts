import type {
  BranchRecord,
  DatabaseRecord,
  EndpointRecord,
  KeyRecord,
  ProjectRecord,
  RoleRecord,
} from "../engine/records.ts";
import { MemoryOperations } from "./memory-operations.ts";
import { type MemoryRecord, MemoryTable } from "./memory-table.ts";
import type { Store, StoreContent } from "./store.ts";
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
  readonly roles = new ByBranchTable<RoleRecord>(this.#journal);
  readonly databases = new ByBranchTable<DatabaseRecord>(this.#journal);
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
    for (const part of [...this.#tables(), this.operations, this.timers]) part.clear();
    this.#counters.clear();
  }

  export(): StoreContent {
    return {
      projects: this.projects.list(),
      branches: this.branches.list(),
      endpoints: this.endpoints.list(),
      operations: this.operations.list(),
      roles: this.roles.list(),
      databases: this.databases.list(),
      keys: this.keys.list(),
      timers: this.timers.list(),
      counters: Object.fromEntries(this.#counters),
    };
  }

  import(content: StoreContent): void {
    this.clear();
    for (const record of content.projects) this.projects.put(record);
    for (const record of content.branches) this.branches.put(record);
    for (const record of content.endpoints) this.endpoints.put(record);
    for (const record of content.operations) this.operations.put(record);
    for (const record of content.roles) this.roles.put(record);
    for (const record of content.databases) this.databases.put(record);
    for (const record of content.keys) this.keys.put(record);
    for (const timer of content.timers) this.timers.put(timer);
    for (const [name, value] of Object.entries(content.counters)) this.#counters.set(name, value);
  }

  #tables(): readonly { clear(): void }[] {
    return [this.projects, this.branches, this.endpoints, this.roles, this.databases, this.keys];
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

class ByBranchTable<R extends MemoryRecord & { readonly branchId: string }> extends MemoryTable<R> {
  constructor(journal: UndoJournal) {
    super(journal, [(record) => record.branchId]);
  }

  ofBranch(branchId: string): readonly R[] {
    return this.group(0, branchId);
  }
}
