/** Copies data for new branches, restored branches and branch snapshots. */
import type { OperationRecord } from "../engine/records.ts";
import type { BranchData, DataSource } from "./branch-data.ts";
import type { ComputeRecords } from "./compute-records.ts";
import type { KeyedQueue } from "./keyed-queue.ts";
import { ComputeError } from "./postgres/compute-error.ts";
import type { PostgresServer } from "./postgres/postgres-server.ts";
import { type ComputeDirectories, type Holder, holderOfBranch } from "./storage/compute-directories.ts";

export interface BranchCopiesParts {
  readonly records: ComputeRecords;
  readonly directories: ComputeDirectories;
  readonly data: BranchData;
  readonly queue: KeyedQueue;
  /** Of the read-write endpoint; `undefined`: it does not run. */
  readonly primaryOf: (branchId: string) => PostgresServer | undefined;
  /** From the sandbox's clock to the machine's clock, epoch milliseconds. @throws ComputeError */
  readonly wallTimeOf: (timeMs: number) => number;
  /** The caller's work must hold the branch in the queue. */
  readonly stopAllOf: (branchId: string) => Promise<void>;
}

/** An operation may be repeated after a crash. */
export class BranchCopies {
  readonly #parts: BranchCopiesParts;

  constructor(parts: BranchCopiesParts) {
    this.#parts = parts;
  }

  /** @throws ComputeError, PostgresError, or Error of the file system */
  async carryOut({ branchId, restore, schemaOf, snapshotId }: OperationRecord): Promise<void> {
    if (snapshotId !== undefined) await this.#takeSnapshot(branchId, snapshotId);
    else if (restore !== undefined) await this.#restore(branchId, restore);
    else await this.#create(branchId, schemaOf);
  }

  async #create(branchId: string, schemaOf: string | undefined): Promise<void> {
    const branch = this.#parts.records.branch(branchId);
    if (branch?.restoredFrom !== undefined) return await this.#createFromSnapshot(branchId, branch.restoredFrom);
    const sourceId = schemaOf ?? branch?.parentId;
    if (sourceId === undefined) return;
    const { directories, queue } = this.#parts;
    await queue.run([sourceId, branchId], async () => {
      // If a crash repeats the operation, the copy exists already. If no compute of the parent ever ran, there is no
      // data to copy.
      if (directories.has(holderOfBranch(branchId)) || !directories.has(holderOfBranch(sourceId))) return;
      const timeMs = branch?.parentTimestampMs;
      await this.#copy({ sourceId, timeMs }, branchId, { isSchemaOnly: schemaOf !== undefined });
    });
  }

  async #createFromSnapshot(branchId: string, snapshotId: string): Promise<void> {
    const { directories, records, queue, data } = this.#parts;
    const holder: Holder = { kind: "snapshots", id: snapshotId };
    await queue.run([snapshotId, branchId], async () => {
      if (directories.has(holderOfBranch(branchId))) return;
      if (!directories.has(holder)) {
        throw new ComputeError("the snapshot has no data: the operation that took it failed, or it was deleted since");
      }
      await data.copy({ holder, running: undefined }, holderOfBranch(branchId), {
        objects: objectsOf(records, branchId),
      });
    });
  }

  async #takeSnapshot(branchId: string, snapshotId: string): Promise<void> {
    const { directories, records, queue, data } = this.#parts;
    const holder: Holder = { kind: "snapshots", id: snapshotId };
    await queue.run([branchId, snapshotId], async () => {
      const snapshot = records.snapshot(snapshotId);
      if (snapshot === undefined || directories.has(holder)) return;
      // If no compute of the branch ever ran, the branch first gets a copy of the empty template.
      await data.ensureBranch(branchId);
      const timeMs = snapshot.timestampMs === snapshot.createdMs ? undefined : snapshot.timestampMs;
      await data.copy(this.#sourceAt({ sourceId: branchId, timeMs }), holder);
    });
  }

  async #restore(branchId: string, restore: NonNullable<OperationRecord["restore"]>): Promise<void> {
    const { directories, records, queue, data, stopAllOf } = this.#parts;
    const { sourceBranchId, sourceMs: timeMs, preservedId } = restore;
    const keys = [sourceBranchId, branchId, ...(preservedId === undefined ? [] : [preservedId])];
    await queue.run(keys, async () => {
      if (records.branch(branchId) === undefined) return;
      // An earlier operation suspends the servers of the branch, but it may have failed.
      await stopAllOf(branchId);
      if (preservedId !== undefined) await data.moveBranch(branchId, preservedId, objectsOf(records, preservedId));
      // In a restore from the branch itself, the preserved branch has the former data and history by now.
      const sourceId = sourceBranchId === branchId && preservedId !== undefined ? preservedId : sourceBranchId;
      if (directories.has(holderOfBranch(sourceId))) await this.#copy({ sourceId, timeMs }, branchId);
      else await directories.remove(directories.of(holderOfBranch(branchId)));
    });
  }

  async #copy(
    from: { readonly sourceId: string; readonly timeMs: number | undefined },
    to: string,
    how: { readonly isSchemaOnly?: boolean } = {},
  ): Promise<void> {
    const { data, records } = this.#parts;
    await data.copy(this.#sourceAt(from), holderOfBranch(to), { ...how, objects: objectsOf(records, to) });
  }

  /** @param timeMs epoch milliseconds of the sandbox's clock; `undefined`: now. @throws ComputeError */
  #sourceAt({ sourceId, timeMs }: { readonly sourceId: string; readonly timeMs: number | undefined }): DataSource {
    const { primaryOf, wallTimeOf } = this.#parts;
    const present = { holder: holderOfBranch(sourceId), running: primaryOf(sourceId) };
    return timeMs === undefined ? present : { ...present, wallMs: wallTimeOf(timeMs) };
  }
}

export function objectsOf(records: ComputeRecords, branchId: string) {
  return { roles: records.rolesOf(branchId), databases: records.databasesOf(branchId) };
}
