/** The DatabaseBranches of a test's namespace, and the branches of its project in the sandbox. */
import { conditionOf } from "../../src/resource/conditions.ts";
import type { DatabaseBranchStatus } from "../../src/resource/database-branch-schema.ts";
import { annotations } from "../../src/resource/names.ts";
import { untilNotStored, untilStored } from "./stored-resource.ts";
import { project, startWorld, type World, type WorldOptions } from "./world.ts";

export interface StoredBranch {
  readonly metadata: { readonly uid: string; readonly generation: number; readonly finalizers?: readonly string[] };
  readonly status: DatabaseBranchStatus;
}

/** A branch as the sandbox shows it. */
export interface SandboxBranch {
  readonly id: string;
  readonly name: string;
  readonly parent_id?: string;
  readonly expires_at?: string;
  readonly last_reset_at?: string;
}

export class BranchWorld {
  readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  async apply(name: string, spec: object = {}, metadata: object = {}): Promise<void> {
    const manifest = {
      apiVersion: "endpoint-operator.dev/v1alpha1",
      kind: "DatabaseBranch",
      metadata: { name, namespace: this.world.namespace, ...metadata },
      spec: { projectId: project, ...spec },
    };
    await this.world.kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify(manifest) });
  }

  async annotate(name: string, key: keyof typeof annotations, value: string): Promise<void> {
    await this.#kubectl("annotate", "--overwrite", "dbb", name, `${annotations[key]}=${value}`);
  }

  async delete(name: string): Promise<void> {
    await this.#kubectl("delete", "dbb", name, "--wait=false");
  }

  async get(name: string): Promise<StoredBranch | undefined> {
    const text = await this.#kubectl("get", "dbb", name, "--ignore-not-found", "-o", "json");
    return text === "" ? undefined : ({ status: {}, ...JSON.parse(text) } as StoredBranch);
  }

  until(name: string, what: string, isWanted: (branch: StoredBranch) => boolean): Promise<StoredBranch> {
    return untilStored(this.#wait(name, `${name}: ${what}`), isWanted);
  }

  untilReady(name: string): Promise<StoredBranch> {
    return this.until(name, "Ready for its generation", ({ metadata, status }) => {
      const ready = conditionOf(status.conditions, "Ready");
      return ready?.status === "True" && ready.observedGeneration === metadata.generation;
    });
  }

  untilStalled(name: string, reason: string): Promise<StoredBranch> {
    const isStalled = ({ status }: StoredBranch) => conditionOf(status.conditions, "Stalled")?.reason === reason;
    return this.until(name, `Stalled ${reason}`, isStalled);
  }

  untilGone(name: string): Promise<void> {
    return untilNotStored(this.#wait(name, name));
  }

  async branches(): Promise<readonly SandboxBranch[]> {
    const path = `/projects/${project}/branches`;
    return (await this.world.sandbox.api<{ branches: readonly SandboxBranch[] }>("GET", path)).branches;
  }

  async branchOf({ status }: StoredBranch): Promise<SandboxBranch | undefined> {
    return (await this.branches()).find(({ id }) => id === status.branchId);
  }

  async #kubectl(...words: readonly string[]): Promise<string> {
    return (await this.world.kubectl.run(["-n", this.world.namespace, ...words])).trim();
  }

  #wait(name: string, what: string) {
    return {
      get: () => this.get(name),
      what,
      lastSeen: (seen?: StoredBranch) => ({ seen, logs: this.world.logs.slice(-12) }),
    };
  }
}

/** @default the profile `public`, because the other one has no annotations of branches */
export async function startBranchWorld(options: WorldOptions = {}): Promise<BranchWorld> {
  const sandbox = { profile: "public", ...options.sandbox } as const;
  return new BranchWorld(await startWorld({ ...options, sandbox }));
}
