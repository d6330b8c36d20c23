import type { z } from "zod";
import type { StoredRow } from "../storage/sqlite-file.ts";
import { Table } from "../storage/table.ts";
import { type Commit, NamedValues, type Tracked, Transactions } from "../storage/transactions.ts";
import {
  type BranchRecord,
  branchRecord,
  type DatabaseRecord,
  databaseRecord,
  type EndpointRecord,
  endpointRecord,
  type KeyRecord,
  keyRecord,
  type OperationRecord,
  operationRecord,
  type ProjectRecord,
  projectRecord,
  type RoleRecord,
  roleRecord,
  type SnapshotRecord,
  type StoreContent,
  snapshotRecord,
  storeContent,
  type TimerRecord,
  type TrashRecord,
  timerRecord,
  trashRecord,
  type UsageRecord,
  usageRecord,
  type VersionRecord,
  versionRecord,
} from "./records.ts";

/** A position in a project's operations: everything strictly older comes after it. */
export interface OperationPosition {
  readonly createdMs: number;
  readonly sequence: number;
}

/** A cursor has only so many digits for a sequence number: the sequence modulo this. */
export const cursorModulus = 1_000_000;

/** Which operations to read. */
export interface OperationQuery {
  readonly projectId: string;
  /** At least 1. */
  readonly limit: number;
  /** `undefined`: from the newest. */
  readonly after: OperationPosition | undefined;
  /** Operations after this position are left out. `undefined`: none. */
  readonly upTo: OperationPosition | undefined;
}

/**
 * Everything the engine keeps, in memory: plain tables with groups, changed in transactions.
 *
 * Synchronous, so that a request is one transaction and nothing interleaves with it. Lists come in the order of
 * `sequence`. The work for a request does not grow with the number of records of other projects.
 */
export class Store {
  readonly #transactions: Transactions;
  readonly #counters: NamedValues<number>;
  readonly projects: Table<ProjectRecord>;
  readonly branches: ByParentTable<BranchRecord>;
  readonly endpoints: ByParentTable<EndpointRecord>;
  readonly operations: OperationTable;
  readonly roles: ByParentTable<RoleRecord>;
  readonly databases: ByParentTable<DatabaseRecord>;
  readonly keys: Table<KeyRecord>;
  readonly versions: ByParentTable<VersionRecord>;
  readonly snapshots: ByParentTable<SnapshotRecord>;
  readonly trash: Table<TrashRecord>;
  readonly usage: ByParentTable<UsageRecord>;
  readonly timers: TimerTable;
  /** What the sandbox around the engine has to remember. */
  readonly values: NamedValues<string>;
  readonly counters = {
    /** 0 when never set. */
    get: (name: string): number => this.#counters.get(name) ?? 0,
    set: (name: string, value: number): void => this.#counters.set(name, value),
  };

  /** @param commit stores the changes of each transaction. @default they are lost when the process ends */
  constructor(commit?: Commit) {
    const transactions = new Transactions(commit);
    this.#transactions = transactions;
    this.#counters = new NamedValues("counters", transactions);
    this.projects = new Table<ProjectRecord>(transactions, bySequence("projects"));
    this.branches = new ByParentTable<BranchRecord>(transactions, "branches");
    this.endpoints = new ByParentTable<EndpointRecord>(transactions, "endpoints");
    this.operations = new OperationTable(transactions);
    this.roles = new ByParentTable<RoleRecord>(transactions, "roles");
    this.databases = new ByParentTable<DatabaseRecord>(transactions, "databases");
    this.keys = new Table<KeyRecord>(transactions, bySequence("keys"));
    this.versions = new ByParentTable<VersionRecord>(transactions, "versions");
    this.snapshots = new ByParentTable<SnapshotRecord>(transactions, "snapshots");
    this.trash = new Table<TrashRecord>(transactions, bySequence("trash"));
    this.usage = new ByParentTable<UsageRecord>(transactions, "usage");
    this.timers = new TimerTable(transactions);
    this.values = new NamedValues("values", transactions);
  }

  /** All or nothing: when `work` throws, no write of it remains. A transaction inside another is part of it. */
  transaction<T>(work: () => T): T {
    return this.#transactions.run(work);
  }

  /** Removes everything. */
  clear(): void {
    this.transaction(() => {
      for (const table of Object.values(this.#tables())) table.clear();
      for (const values of [this.#counters, this.values]) values.clear();
    });
  }

  /** A copy of everything. */
  export(): StoreContent {
    const lists = Object.entries(this.#tables()).map(([name, table]) => [name, table.list()]);
    const named = { counters: this.#counters.entries(), values: this.values.entries() };
    return { ...Object.fromEntries(lists), ...named } as StoreContent;
  }

  /** Replaces everything. The caller has checked the content. */
  restore(content: StoreContent): void {
    this.transaction(() => {
      this.clear();
      for (const [name, table] of Object.entries(this.#tables())) {
        for (const record of content[name as TableName]) table.put(record as never);
      }
      for (const [name, value] of Object.entries(content.counters)) this.#counters.set(name, value);
      for (const [name, value] of Object.entries(content.values)) this.values.set(name, value);
    });
  }

  /** Fills an empty store from disk; nothing of it counts as a change. @throws Error for a row that no sandbox wrote */
  load(rows: readonly StoredRow[]): void {
    const schemas: Readonly<Record<string, z.ZodType>> = {
      ...recordSchemas,
      counters: storeContent.shape.counters.valueType,
      values: storeContent.shape.values.valueType,
    };
    const places: Readonly<Record<string, Tracked>> = {
      ...this.#tables(),
      counters: this.#counters,
      values: this.values,
    };
    for (const { collection, key, value } of rows) {
      const place = places[collection];
      if (place === undefined) throw new Error(`there is no collection ${collection}`);
      place.replace(key, schemas[collection]?.parse(JSON.parse(value)));
    }
  }

  #tables() {
    const { projects, branches, endpoints, operations, roles, databases, keys, timers } = this;
    const { versions, snapshots, trash, usage } = this;
    return {
      projects,
      branches,
      endpoints,
      operations,
      roles,
      databases,
      keys,
      versions,
      snapshots,
      trash,
      usage,
      timers,
    };
  }
}

const recordSchemas = {
  projects: projectRecord,
  branches: branchRecord,
  endpoints: endpointRecord,
  operations: operationRecord,
  roles: roleRecord,
  databases: databaseRecord,
  keys: keyRecord,
  versions: versionRecord,
  snapshots: snapshotRecord,
  trash: trashRecord,
  usage: usageRecord,
  timers: timerRecord,
};

type TableName = keyof typeof recordSchemas;

interface Numbered {
  readonly id: string;
  readonly sequence: number;
}

function bySequence(name: TableName) {
  return {
    name,
    keyOf: ({ id }: Numbered): string => id,
    order: (a: Numbered, b: Numbered): number => a.sequence - b.sequence || compareText(a.id, b.id),
  };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Records that belong to a project, and (branches aside) to a branch. */
class ByParentTable<R extends Numbered & { readonly projectId: string; readonly branchId?: string }> extends Table<R> {
  constructor(transactions: Transactions, name: TableName) {
    super(transactions, { ...bySequence(name), groupings: [({ projectId }) => projectId, ({ branchId }) => branchId] });
  }

  ofProject(projectId: string): readonly R[] {
    return this.group(0, projectId);
  }

  ofBranch(branchId: string): readonly R[] {
    return this.group(1, branchId);
  }
}

/** Operations. They are only ever added and replaced, and their times rise with their sequence. */
class OperationTable extends Table<OperationRecord> {
  constructor(transactions: Transactions) {
    super(transactions, {
      ...bySequence("operations"),
      groupings: [
        ({ projectId }) => projectId,
        (operation) => (hasEnded(operation) ? undefined : operation.projectId),
        (operation) => (hasEnded(operation) ? undefined : operation.endpointId),
      ],
    });
  }

  /** Newest first: by `createdMs`, then by `sequence`, both descending. */
  page({ projectId, limit, after, upTo }: OperationQuery): readonly OperationRecord[] {
    const isWithin = (operation: OperationRecord): boolean =>
      (after === undefined || compare(operation, after) < 0) && (upTo === undefined || compare(operation, upTo) <= 0);
    return this.lastOf(0, projectId, { limit, isWithin });
  }

  /** Those that have not ended. */
  unfinishedOfProject(projectId: string): readonly OperationRecord[] {
    return this.group(1, projectId);
  }

  /** Those that have not ended. */
  unfinishedOfEndpoint(endpointId: string): readonly OperationRecord[] {
    return this.group(2, endpointId);
  }
}

function hasEnded({ status }: OperationRecord): boolean {
  return status === "finished" || status === "failed";
}

function compare(a: OperationPosition, b: OperationPosition): number {
  return a.createdMs - b.createdMs || a.sequence - b.sequence;
}

/** Timers in the order in which they are due: by `dueMs`, then `rank`, then `key`. */
class TimerTable extends Table<TimerRecord> {
  constructor(transactions: Transactions) {
    super(transactions, {
      name: "timers",
      keyOf: ({ key }) => key,
      order: (a, b) => a.dueMs - b.dueMs || a.rank - b.rank || compareText(a.key, b.key),
    });
  }

  override put(timer: TimerRecord): void {
    const before = this.get(timer.key);
    const isSame = before?.dueMs === timer.dueMs && before.rank === timer.rank && before.subjectId === timer.subjectId;
    if (!isSame) super.put(timer);
  }

  /** The first that is due. */
  next(): TimerRecord | undefined {
    return this.first();
  }
}
