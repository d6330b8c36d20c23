import type {
  BranchRecord,
  DatabaseRecord,
  EndpointRecord,
  KeyRecord,
  OperationRecord,
  ProjectRecord,
  RoleRecord,
  TimerRecord,
} from "../engine/records.ts";

/** A position in a project's operations: everything strictly older comes after it. */
export interface OperationPosition {
  readonly createdMs: number;
  readonly sequence: number;
}

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

/** Records of one kind, by id. */
export interface Table<R> {
  get(id: string): R | undefined;
  /** Inserts or replaces. */
  put(record: R): void;
  /** Of a missing id: nothing happens. */
  remove(id: string): void;
}

/** The project's operations. They are only ever added and replaced, in the order of (`createdMs`, `sequence`). */
export interface OperationTable {
  get(id: string): OperationRecord | undefined;
  put(operation: OperationRecord): void;
  /** Newest first: by `createdMs`, then by `sequence`, both descending. */
  page(query: OperationQuery): readonly OperationRecord[];
  /** Those that have not ended. */
  unfinishedOfProject(projectId: string): Iterable<OperationRecord>;
  /** Those that have not ended. */
  unfinishedOfEndpoint(endpointId: string): Iterable<OperationRecord>;
}

/** Everything a store holds, as plain values: each list in the order of `sequence`, timers in any order. */
export interface StoreContent {
  readonly projects: readonly ProjectRecord[];
  readonly branches: readonly BranchRecord[];
  readonly endpoints: readonly EndpointRecord[];
  readonly operations: readonly OperationRecord[];
  readonly roles: readonly RoleRecord[];
  readonly databases: readonly DatabaseRecord[];
  readonly keys: readonly KeyRecord[];
  readonly timers: readonly TimerRecord[];
  readonly counters: Readonly<Record<string, number>>;
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Where the engine keeps everything.
 *
 * Synchronous, so that a request is one transaction and nothing interleaves with it. Lists come in the order of
 * `sequence`. Nothing a request does grows with the number of records of other projects.
 */
export interface Store {
  /** All or nothing: when `work` throws, no write of it remains. A transaction inside one is part of it. */
  transaction<T>(work: () => T): T;
  /** Removes everything. */
  clear(): void;
  /** A copy of everything. */
  export(): StoreContent;
  /** Replaces everything. The caller has checked the content; of operations the order of `sequence` is that of time. */
  restore(content: StoreContent): void;
  readonly projects: Table<ProjectRecord> & { list(): readonly ProjectRecord[] };
  readonly branches: Table<BranchRecord> & { ofProject(projectId: string): readonly BranchRecord[] };
  readonly endpoints: Table<EndpointRecord> & {
    ofProject(projectId: string): readonly EndpointRecord[];
    ofBranch(branchId: string): readonly EndpointRecord[];
  };
  readonly operations: OperationTable;
  readonly roles: Table<RoleRecord> & { ofBranch(branchId: string): readonly RoleRecord[] };
  readonly databases: Table<DatabaseRecord> & { ofBranch(branchId: string): readonly DatabaseRecord[] };
  readonly keys: Table<KeyRecord> & { list(): readonly KeyRecord[] };
  readonly timers: {
    /** Replaces the one with the same key. */
    put(timer: TimerRecord): void;
    remove(key: string): void;
    /** The first by `dueMs`, then `rank`, then `key`. */
    next(): TimerRecord | undefined;
    /** All of them, in any order. */
    list(): readonly TimerRecord[];
  };
  readonly counters: {
    /** 0 when never set. */
    get(name: string): number;
    set(name: string, value: number): void;
  };
  /** What the sandbox around the engine has to remember. */
  readonly values: {
    get(name: string): string | undefined;
    set(name: string, value: string): void;
  };
}
