import type { OperationRecord } from "../engine/records.ts";
import type { BranchData } from "./branch-data.ts";
import type { ComputeRecords } from "./compute-records.ts";
import type { KeyedQueue } from "./keyed-queue.ts";
import type { PostgresServer } from "./postgres/postgres-server.ts";
import type { ComputeDirectories, Holder } from "./storage/compute-directories.ts";

/** What branches are created and restored with. */
export interface BranchCopiesParts {
  readonly records: ComputeRecords;
  readonly directories: ComputeDirectories;
  readonly data: BranchData;
  readonly queue: KeyedQueue;
  /** `undefined`: the primary of the branch does not run. */
  readonly primaryOf: (branchId: string) => PostgresServer | undefined;
  /** Stops all servers of a branch. Called while the queue holds the branch. */
  readonly stopAllOf: (branchId: string) => Promise<void>;
}

/** Gives branches the data of other branches. Each call may be repeated after a crash. */
export class BranchCopies {
  readonly #parts: BranchCopiesParts;

  constructor(parts: BranchCopiesParts) {
    this.#parts = parts;
  }

  /** The work of create_branch. @throws ComputeError, PostgresError, or Error of the file system */
  async carryOut({ branchId, restore }: Pick<OperationRecord, "branchId" | "restore">): Promise<void> {
    await (restore === undefined ? this.#create(branchId) : this.#restore(branchId, restore));
  }

  async #create(branchId: string): Promise<void> {
    const { directories, records, queue } = this.#parts;
    const parentId = records.branch(branchId)?.parentId;
    if (parentId === undefined) return;
    await queue.run([parentId, branchId], async () => {
      // A repeated operation finds the copy that it made; a parent that never ran has nothing to copy.
      if (directories.has(holderOf(branchId)) || !directories.has(holderOf(parentId))) return;
      await this.#copy(parentId, branchId);
    });
  }

  async #restore(branchId: string, restore: NonNullable<OperationRecord["restore"]>): Promise<void> {
    const { directories, records, queue, data, stopAllOf } = this.#parts;
    const { sourceBranchId, preservedId } = restore;
    const keys = [sourceBranchId, branchId, ...(preservedId === undefined ? [] : [preservedId])];
    await queue.run(keys, async () => {
      if (records.branch(branchId) === undefined) return;
      // An operation before this one should have suspended them; it may have failed.
      await stopAllOf(branchId);
      if (preservedId !== undefined) await data.moveBranch(branchId, preservedId, objectsOf(records, preservedId));
      if (directories.has(holderOf(sourceBranchId))) await this.#copy(sourceBranchId, branchId);
      else await directories.remove(directories.of(holderOf(branchId)));
    });
  }

  async #copy(from: string, to: string): Promise<void> {
    const { data, records, primaryOf } = this.#parts;
    await data.copyBranch(from, holderOf(to), { running: primaryOf(from), objects: objectsOf(records, to) });
  }
}

/** The roles and databases that the API shows of a branch. */
export function objectsOf(records: ComputeRecords, branchId: string) {
  return { roles: records.rolesOf(branchId), databases: records.databasesOf(branchId) };
}

function holderOf(id: string): Holder {
  return { kind: "branches", id };
}
