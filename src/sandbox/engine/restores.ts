/** The engine's calls about the past: restores, branch snapshots, recovery of deleted projects, and usage. */
import type { NewBranch } from "./branches.ts";
import type { BranchRecord, ProjectRecord, SnapshotRecord } from "./records.ts";
import { recoverableProjects, recoverProject } from "./recovery.ts";
import {
  type BranchRestore,
  createSnapshot,
  deleteSnapshot,
  type NewSnapshot,
  type RestoredBranch,
  renameSnapshot,
  restoreBranch,
  restoreSnapshot,
  type SnapshotCreation,
} from "./restore.ts";
import { monthOf, type Span, type Usage, usageIn } from "./usage.ts";
import type { World } from "./world.ts";

/**
 * The engine's calls about restores, branch snapshots, recovery and usage. Every method throws `Refusal` if it refuses
 * the request; any other error is a bug.
 */
export class Restores {
  readonly #world: World;
  /** Carries out everything that is due by now, and then runs `work` as one transaction. */
  readonly #call: <T>(work: () => T) => T;

  constructor(world: World, call: <T>(work: () => T) => T) {
    this.#world = world;
    this.#call = call;
  }

  restoreBranch(projectId: string, branchId: string, restore: BranchRestore): RestoredBranch {
    return this.#call(() => restoreBranch(this.#world, { projectId, branchId }, restore));
  }

  /** Returns the branch snapshots of a project in the order of creation. */
  snapshots(projectId: string): readonly SnapshotRecord[] {
    return this.#call(() => this.#world.store.snapshots.ofProject(this.#world.project(projectId).id));
  }

  createSnapshot(projectId: string, branchId: string, creation: SnapshotCreation): NewSnapshot {
    return this.#call(() => createSnapshot(this.#world, { projectId, branchId }, creation));
  }

  renameSnapshot(projectId: string, snapshotId: string, name: string | undefined): SnapshotRecord {
    return this.#call(() => renameSnapshot(this.#world, { projectId, snapshotId }, name));
  }

  deleteSnapshot(projectId: string, snapshotId: string): void {
    this.#call(() => deleteSnapshot(this.#world, projectId, snapshotId));
  }

  restoreSnapshot(projectId: string, snapshotId: string, name: string | undefined): NewBranch {
    return this.#call(() => restoreSnapshot(this.#world, { projectId, snapshotId }, name));
  }

  recoverProject(projectId: string): { readonly project: ProjectRecord; readonly branches: readonly BranchRecord[] } {
    return this.#call(() => recoverProject(this.#world, projectId));
  }

  recoverableProjects(): readonly ProjectRecord[] {
    return this.#call(() => recoverableProjects(this.#world));
  }

  /** Returns a project's usage in the present month, and that month. The API shows both with the project. */
  projectFacts(projectId: string): {
    readonly usage: Usage;
    readonly month: Span;
  } {
    return this.#call(() => {
      const month = monthOf(this.#world.nowMs);
      return { usage: usageIn(this.#world, { projectId }, month), month };
    });
  }

  /**
   * Returns the usage of a project, or of one of its branches.
   * @param span whole days. @default the present month
   */
  usage(of: { readonly projectId: string; readonly branchId?: string | undefined }, span?: Span): Usage {
    return this.#call(() => usageIn(this.#world, of, span ?? monthOf(this.#world.nowMs)));
  }
}
