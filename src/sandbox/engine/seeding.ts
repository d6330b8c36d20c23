import type { Fixture } from "../fixture.ts";
import { armAutoSuspend } from "./auto-suspend.ts";
import { armAvailabilityCheck } from "./availability-check.ts";
import { addDatabase } from "./databases.ts";
import { changed, defaultConfig, requireAllowed } from "./endpoint-changes.ts";
import { placeEndpoint } from "./endpoints.ts";
import { password } from "./identifiers.ts";
import type { BranchRecord, ProjectRecord } from "./records.ts";
import { addRole } from "./roles.ts";
import { defaultPgVersion } from "./settings.ts";
import type { World } from "./world.ts";

/**
 * Fills an empty world. Nothing of it counts as an operation.
 *
 * @throws Refusal when an endpoint of the fixture is not possible in its plan or in the profile
 */
export function seedWorld(world: World, fixture: Fixture): void {
  world.store.counters.set("random", world.settings.seed >>> 0);
  const times = { createdMs: world.nowMs, updatedMs: world.nowMs };
  for (const { branches, ...given } of fixture.projects) {
    const project: ProjectRecord = {
      ...given,
      ...times,
      sequence: world.nextSequence(),
      pgVersion: defaultPgVersion,
      deletedMs: undefined,
    };
    world.store.projects.put(project);
    const primaryId = branches.find((branch) => branch.primary)?.id;
    for (const { endpoints, ...branch } of branches) {
      const record: BranchRecord = {
        ...branch,
        ...times,
        sequence: world.nextSequence(),
        projectId: project.id,
        parentId: branch.primary ? undefined : primaryId,
        protected: false,
        state: "ready",
      };
      world.store.branches.put(record);
      seedDatabase(world, record);
      for (const endpoint of endpoints) seedEndpoint(world, { project, branchId: record.id, endpoint });
    }
  }
}

function seedDatabase(world: World, branch: BranchRecord): void {
  const { name, ownerName } = world.profile.defaultDatabase;
  addRole(world, branch, { name: ownerName, password: password(world.draw) });
  addDatabase(world, branch, { name, ownerName });
}

interface EndpointSeed {
  readonly project: ProjectRecord;
  readonly branchId: string;
  readonly endpoint: Fixture["projects"][number]["branches"][number]["endpoints"][number];
}

function seedEndpoint(
  world: World,
  { project, branchId, endpoint: { id, type, state, ...fields } }: EndpointSeed,
): void {
  const config = changed(defaultConfig(branchId, fields), fields);
  requireAllowed(config, project.plan, world.profile);
  const placed = placeEndpoint(world, project, { ...config, id, type, state, pendingState: undefined });
  const isActive = state === "active";
  const endpoint = world.saveEndpoint(
    isActive ? { ...placed, startedMs: world.nowMs, lastActiveMs: world.nowMs } : placed,
  );
  if (isActive) armAutoSuspend(world, endpoint);
  armAvailabilityCheck(world, branchId);
}
