/** The DatabaseBranches of a test's namespace, and the branches of its project in the sandbox. */
import type { DatabaseBranchStatus } from "../../src/resource/database-branch-schema.ts";
import { type Stored, StoredKind } from "./stored-resource.ts";
import { project, startWorld, type World, type WorldOptions } from "./world.ts";

/** A branch as the sandbox shows it. */
export interface SandboxBranch {
  readonly id: string;
  readonly name: string;
  readonly parent_id?: string;
  readonly expires_at?: string;
  readonly last_reset_at?: string;
}

export class BranchWorld extends StoredKind<DatabaseBranchStatus> {
  readonly world: World;
  protected readonly place: World;

  constructor(world: World) {
    super("DatabaseBranch", { projectId: project });
    this.world = world;
    this.place = world;
  }

  async branches(): Promise<readonly SandboxBranch[]> {
    const path = `/projects/${project}/branches`;
    return (await this.world.sandbox.api<{ branches: readonly SandboxBranch[] }>("GET", path)).branches;
  }

  async branchOf({ status }: Stored<DatabaseBranchStatus>): Promise<SandboxBranch | undefined> {
    return (await this.branches()).find(({ id }) => id === status.branchId);
  }
}

/** @default the profile `public`, because the other one has no annotations of branches */
export async function startBranchWorld(options: WorldOptions = {}): Promise<BranchWorld> {
  const sandbox = { profile: "public", ...options.sandbox } as const;
  return new BranchWorld(await startWorld({ ...options, sandbox }));
}
