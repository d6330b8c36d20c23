import type { Operation } from "./operation.ts";

export interface BranchPath {
  readonly projectId: string;
  readonly branchId: string;
}

export interface ObservedBranch {
  readonly id: string;
  readonly name: string;
  /** `undefined`: a root branch. */
  readonly parentId: string | undefined;
  /** The control plane's own word, for instance `ready`. */
  readonly state: string;
  readonly isDefault: boolean;
  readonly isProtected: boolean;
  /** RFC 3339; `undefined`: it does not expire. */
  readonly expiresTime: string | undefined;
  /** RFC 3339; `undefined`: it was never reset. */
  readonly lastResetTime: string | undefined;
  readonly logicalSizeBytes: number | undefined;
  /** The texts that its creator attached to it. They never change. */
  readonly annotation: Readonly<Record<string, string>>;
}

export interface BranchList {
  readonly branches: readonly ObservedBranch[];
  /** Entries that cannot be parsed. Their ids, "" if that could not be read either, and their annotations can be. */
  readonly unreadable: readonly Pick<ObservedBranch, "id" | "annotation">[];
}

export interface BranchCreation {
  readonly name: string;
  /** `undefined`: the default branch. */
  readonly parentId: string | undefined;
  readonly parentTime: string | undefined;
  readonly initSource: "ParentData" | "SchemaOnly" | undefined;
  readonly expiresTime: string | undefined;
  readonly annotation: Readonly<Record<string, string>>;
}

export interface BranchChange {
  readonly branch: ObservedBranch;
  readonly operations: readonly Operation[];
}

export interface BranchCalls {
  /**
   * Of a project that exists: a 404 counts as a call that the control plane does not have.
   * @returns `undefined` if it has no such call, or shows no annotations, without which no branch can be proven
   */
  listBranches(projectId: string): Promise<BranchList | undefined>;
  /** @returns `undefined` only for a 404 in the documented error shape */
  getBranch(branch: BranchPath): Promise<ObservedBranch | undefined>;
  /** What the answer says about connections, passwords included, is not read. */
  createBranch(projectId: string, creation: BranchCreation): Promise<BranchChange>;
  /** @param expiresTime RFC 3339; `null`: it no longer expires */
  setBranchExpiry(branch: BranchPath, expiresTime: string | null): Promise<BranchChange>;
  /** Replaces the data of the branch by that of its parent, as it is now. Host names stay, and connections drop. */
  resetBranch(branch: BranchPath, parentId: string): Promise<BranchChange>;
  /** @returns `undefined` for 404 or 204; this alone does not prove that the branch is gone */
  deleteBranch(branch: BranchPath): Promise<BranchChange | undefined>;
}
