/** Creates the projects, branches and endpoints of a fixture. */
import { addDatabase, addRole } from "./branch-contents.ts";
import { newConfig, requireAllowed } from "./endpoint-changes.ts";
import { placeEndpoint, requireTypeAllowed } from "./endpoints.ts";
import type { Fixture } from "./fixture.ts";
import { password } from "./identifiers.ts";
import type { BranchRecord, ProjectRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import { pgVersionFor } from "./settings.ts";
import { armAutoSuspend, armAvailabilityCheck } from "./timers.ts";
import type { World } from "./world.ts";

type ProjectSeed = Fixture["projects"][number];
type BranchSeed = ProjectSeed["branches"][number];
type EndpointSeed = BranchSeed["endpoints"][number];

/** No operation starts. @throws Refusal whose message names the place, such as `projects[0].branches[1]` */
export function seedWorld(world: World, fixture: Fixture): void {
  world.store.counters.set("random", world.settings.seed >>> 0);
  for (const [p, { branches, ...given }] of fixture.projects.entries()) {
    const project: ProjectRecord = {
      ...given,
      createdMs: world.nowMs,
      updatedMs: world.nowMs,
      sequence: world.nextSequence(),
      pgVersion: pgVersionFor(world.settings),
      deletedMs: undefined,
    };
    world.store.projects.put(project);
    const primaryId = branches.find(({ primary }) => primary)?.id;
    for (const [b, seed] of branches.entries()) {
      const branch = seedBranch(world, project, { seed, parentId: seed.primary ? undefined : primaryId });
      for (const [e, endpoint] of seed.endpoints.entries()) {
        naming(`projects[${p}].branches[${b}].endpoints[${e}]`, () =>
          seedEndpoint(world, { project, branch, endpoint }),
        );
      }
    }
  }
}

function seedBranch(
  world: World,
  project: ProjectRecord,
  { seed, parentId }: { readonly seed: BranchSeed; readonly parentId: string | undefined },
): BranchRecord {
  const { endpoints: _, ...given } = seed;
  const branch: BranchRecord = {
    ...given,
    createdMs: world.nowMs,
    updatedMs: world.nowMs,
    sequence: world.nextSequence(),
    projectId: project.id,
    parentId,
    protected: false,
    state: "ready",
  };
  world.store.branches.put(branch);
  const { name, ownerName } = world.profile.defaultDatabase;
  addRole(world, branch, { name: ownerName, password: password(world.draw) });
  addDatabase(world, branch, { name, ownerName });
  return branch;
}

function seedEndpoint(
  world: World,
  {
    project,
    branch,
    endpoint: { id, type, state, ...fields },
  }: { readonly project: ProjectRecord; readonly branch: BranchRecord; readonly endpoint: EndpointSeed },
): void {
  requireTypeAllowed(world, project, type);
  requireDelay(world, fields.suspendTimeoutSeconds);
  const config = newConfig(branch.id, fields);
  requireAllowed(config, project.plan, world.profile);
  const placed = placeEndpoint(world, project, { ...config, id, type, state, pendingState: undefined });
  const isActive = state === "active";
  const endpoint = world.saveEndpoint(
    isActive ? { ...placed, startedMs: world.nowMs, lastActiveMs: world.nowMs } : placed,
  );
  if (isActive) armAutoSuspend(world, endpoint);
  armAvailabilityCheck(world, branch.id);
}

function requireDelay({ profile }: World, seconds: number): void {
  const shortest = profile.shortestSuspendSeconds;
  if (seconds > 0 && seconds < shortest) {
    throw new Refusal("Invalid", `suspendTimeoutSeconds: must be -1, 0 or at least ${shortest}`);
  }
}

function naming(place: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) throw new Refusal(error.reason, `${place}: ${error.message}`, error.code);
    throw error;
  }
}
