/** Holds all records of the engine in memory. */
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

/** The list begins with the newest, so older operations follow. */
export interface OperationPosition {
  readonly createdMs: number;
  readonly sequence: number;
}

/** A cursor has only six digits for the sequence number. */
export const cursorModulus = 1_000_000;

export interface OperationQuery {
  readonly projectId: string;
  readonly limit: number;
  /** Older operations follow; `undefined`: the newest of all come first. */
  readonly after: OperationPosition | undefined;
  /** Newer operations are left out. */
  readonly upTo: OperationPosition | undefined;
}

/**
 * All records of the engine, in memory: plain tables with groups, changed in transactions.
 * All calls are synchronous, so that each request is one transaction and requests never mix. Lists are ordered by
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
  readonly values: NamedValues<string>;
  readonly counters = {
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

  /** If the work throws, none of its changes remains. An inner call is part of the outer transaction. */
  transaction<T>(work: () => T): T {
    return this.#transactions.run(work);
  }

  clear(): void {
    this.transaction(() => {
      for (const table of Object.values(this.#tables())) table.clear();
      for (const values of [this.#counters, this.values]) values.clear();
    });
  }

  export(): StoreContent {
    const lists = Object.entries(this.#tables()).map(([name, table]) => [name, table.list()]);
    const named = { counters: this.#counters.entries(), values: this.values.entries() };
    return { ...Object.fromEntries(lists), ...named } as StoreContent;
  }

  /** The caller has checked the content. */
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

  /** Fills an empty store with the rows of a state directory. @throws Error for a row that no sandbox wrote */
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

/** A list by `sequence` is also a list by time. */
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

  page({ projectId, limit, after, upTo }: OperationQuery): readonly OperationRecord[] {
    const isWithin = (operation: OperationRecord): boolean =>
      (after === undefined || compare(operation, after) < 0) && (upTo === undefined || compare(operation, upTo) <= 0);
    return this.lastOf(0, projectId, { limit, isWithin });
  }

  unfinishedOfProject(projectId: string): readonly OperationRecord[] {
    return this.group(1, projectId);
  }

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

  next(): TimerRecord | undefined {
    return this.first();
  }
}
