/**
 * The sandbox's engine in memory. Only this file knows how the engine and its store are made, and what the records
 * contain.
 */

import type { DatabasePath, RolePath } from "../../../src/sandbox/engine/branch-contents.ts";
import { makeEngine } from "../../../src/sandbox/engine/engine.ts";
import { type Fixture, parseFixture } from "../../../src/sandbox/engine/fixture.ts";
import { type Profile, profiles } from "../../../src/sandbox/engine/profile.ts";
import type { EndpointRecord, OperationRecord, RoleRecord, StoreContent } from "../../../src/sandbox/engine/records.ts";
import { Refusal } from "../../../src/sandbox/engine/refusal.ts";
import { defaultEngineSettings } from "../../../src/sandbox/engine/settings.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";

export type { DatabasePath, EndpointRecord, OperationRecord, Profile, RolePath, RoleRecord, StoreContent };
export { Refusal };
export type ProfileName = Profile["name"];

/** How an engine is made. */
export interface EngineOptions {
  readonly profile: ProfileName;
  readonly seed: number;
  /** Returns epoch milliseconds, which never go back. */
  readonly nowMs: () => number;
  readonly operationLatencyMs: { readonly min: number; readonly max: number };
  /** The number of projects beside those of `world`. @default 0 */
  readonly furtherProjects?: number | undefined;
}

/** The projects and branches of every run. */
export const world = {
  project: "green-fox-1",
  branches: ["br-main-1", "br-orders-1", "br-staging-1", "br-preview-1"],
  freeProject: "tiny-owl-2",
  freeBranches: ["br-main-2", "br-dev-2"],
} as const;

/** Returns one of the further projects, with its only branch. */
export function furtherProject(at: number): { readonly id: string; readonly branchId: string } {
  return { id: `far-field-${at}`, branchId: `br-far-${at}` };
}

function furtherProjects(count: number) {
  return Array.from({ length: count }, (_, at) => {
    const { id, branchId } = furtherProject(at);
    const branches = [{ id: branchId, name: "main", primary: true }];
    return { id, name: id, regionId: "aws-us-east-2", branches };
  });
}

/** Returns what exists when a run begins. */
function fixtureWith(furtherCount: number): Fixture {
  return parseFixture(
    JSON.stringify({
      projects: [
        {
          id: world.project,
          name: "green-fox",
          regionId: "aws-us-east-2",
          branches: world.branches.map((id, at) => ({ id, name: id, primary: at === 0 })),
        },
        {
          id: world.freeProject,
          name: "tiny-owl",
          regionId: "aws-us-east-2",
          plan: "free",
          branches: world.freeBranches.map((id, at) => ({ id, name: id, primary: at === 0 })),
        },
        ...furtherProjects(furtherCount),
      ],
    }),
  );
}

/** The projects at the start of a run without further projects. */
export const fixture: Fixture = fixtureWith(0);

/** Makes a control plane without network and disk, and a function that reads its endpoints without the list lag. */
export function createEngine({ profile, seed, nowMs, operationLatencyMs, furtherProjects = 0 }: EngineOptions) {
  const store = new Store();
  const engine = makeEngine({
    store,
    clock: { nowMs },
    profile: profiles[profile],
    settings: { ...defaultEngineSettings, seed, operationLatencyMs },
  });
  engine.reset(furtherProjects === 0 ? fixture : fixtureWith(furtherProjects));
  const live = (projectId: string): readonly EndpointRecord[] => {
    engine.advance();
    return store.endpoints.ofProject(projectId);
  };
  /** Undoes a change of sizes without an operation. */
  const putBack = (before: EndpointRecord, updatedMs: number): void => {
    const now = store.endpoints.get(before.id);
    const { minUnits, maxUnits } = before;
    if (now !== undefined) store.endpoints.put({ ...now, minUnits, maxUnits, updatedMs });
  };
  /** Adds ended checks of an endpoint to the log. */
  const addEnded = ({ id, projectId, branchId }: EndpointRecord, count: number): void => {
    const time = nowMs();
    for (let each = 0; each < count; each += 1) {
      const sequence = store.counters.get("sequence") + 1;
      store.counters.set("sequence", sequence);
      const times = { runsAtMs: time, endsAtMs: time, createdMs: time, updatedMs: time };
      const end = { action: "check_availability", status: "finished", failuresCount: 0 } as const;
      store.operations.put({
        id: `op-log-${sequence}`,
        sequence,
        projectId,
        branchId,
        endpointId: id,
        ...times,
        ...end,
      });
    }
  };
  return { engine, live, putBack, addEnded };
}
