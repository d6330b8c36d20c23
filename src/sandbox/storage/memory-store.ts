import type {
  BranchRecord,
  DatabaseRecord,
  EndpointRecord,
  KeyRecord,
  ProjectRecord,
  RoleRecord,
} from "../engine/records.ts";
import { type Commit, Journal } from "./journal.ts";
import { MemoryMap } from "./memory-map.ts";
import { MemoryOperations } from "./memory-operations.ts";
import { type MemoryRecord, MemoryTable } from "./memory-table.ts";
import type { Store, StoreContent } from "./store.ts";
import { TimerQueue } from "./timer-queue.ts";

/** A store in memory, which forgets everything when the process ends unless somebody makes its changes last. */
export class MemoryStore implements Store {
  readonly #journal: Journal;
  readonly #counters: MemoryMap<number>;
  readonly projects: MemoryTable<ProjectRecord>;
  readonly branches: BranchTable;
  readonly endpoints: EndpointTable;
  readonly operations: MemoryOperations;
  readonly roles: ByBranchTable<RoleRecord>;
  readonly databases: ByBranchTable<DatabaseRecord>;
  readonly keys: MemoryTable<KeyRecord>;
  readonly timers: TimerQueue;
  readonly values: MemoryMap<string>;
  readonly counters = {
    get: (name: string): number => this.#counters.get(name) ?? 0,
    set: (name: string, value: number): void => this.#counters.set(name, value),
  };

  /** @param commit makes the changes of each transaction last. */
  constructor(commit?: Commit) {
    const journal = new Journal(commit);
    this.#journal = journal;
    this.#counters = new MemoryMap("counters", journal);
    this.projects = new MemoryTable<ProjectRecord>(journal, { name: "projects" });
    this.branches = new BranchTable(journal);
    this.endpoints = new EndpointTable(journal);
    this.operations = new MemoryOperations(journal);
    this.roles = new ByBranchTable<RoleRecord>(journal, "roles");
    this.databases = new ByBranchTable<DatabaseRecord>(journal, "databases");
    this.keys = new MemoryTable<KeyRecord>(journal, { name: "keys" });
    this.timers = new TimerQueue(journal);
    this.values = new MemoryMap("values", journal);
  }

  transaction<T>(work: () => T): T {
    return this.#journal.run(work);
  }

  clear(): void {
    this.transaction(() => {
      for (const table of [this.projects, this.branches, this.endpoints, this.operations]) table.clear();
      for (const table of [this.roles, this.databases, this.keys, this.timers]) table.clear();
      for (const map of [this.#counters, this.values]) map.clear();
    });
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
      counters: this.#counters.entries(),
      values: this.values.entries(),
    };
  }

  restore(content: StoreContent): void {
    this.transaction(() => {
      this.clear();
      putAll(this.projects, content.projects);
      putAll(this.branches, content.branches);
      putAll(this.endpoints, content.endpoints);
      putAll(this.operations, content.operations);
      putAll(this.roles, content.roles);
      putAll(this.databases, content.databases);
      putAll(this.keys, content.keys);
      putAll(this.timers, content.timers);
      for (const [name, value] of Object.entries(content.counters)) this.#counters.set(name, value);
      for (const [name, value] of Object.entries(content.values)) this.values.set(name, value);
    });
  }
}

function putAll<R>(table: { put(record: R): void }, records: readonly R[]): void {
  for (const record of records) table.put(record);
}

class BranchTable extends MemoryTable<BranchRecord> {
  constructor(journal: Journal) {
    super(journal, { name: "branches", groupings: [(branch) => branch.projectId] });
  }

  ofProject(projectId: string): readonly BranchRecord[] {
    return this.group(0, projectId);
  }
}

class EndpointTable extends MemoryTable<EndpointRecord> {
  constructor(journal: Journal) {
    super(journal, {
      name: "endpoints",
      groupings: [(endpoint) => endpoint.projectId, (endpoint) => endpoint.branchId],
    });
  }

  ofProject(projectId: string): readonly EndpointRecord[] {
    return this.group(0, projectId);
  }

  ofBranch(branchId: string): readonly EndpointRecord[] {
    return this.group(1, branchId);
  }
}

class ByBranchTable<R extends MemoryRecord & { readonly branchId: string }> extends MemoryTable<R> {
  constructor(journal: Journal, name: string) {
    super(journal, { name, groupings: [(record) => record.branchId] });
  }

  ofBranch(branchId: string): readonly R[] {
    return this.group(0, branchId);
  }
}
