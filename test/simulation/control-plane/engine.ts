/**
 * The sandbox's engine in memory. Only this file knows how the engine and its store are made, and what the records
 * contain.
 */
import type { RolePath } from "../../../src/sandbox/engine/branch-contents.ts";
import type { EndpointCreation } from "../../../src/sandbox/engine/endpoint-changes.ts";
import type { Mutation } from "../../../src/sandbox/engine/endpoints.ts";
import { makeEngine } from "../../../src/sandbox/engine/engine.ts";
import { type Fixture, parseFixture } from "../../../src/sandbox/engine/fixture.ts";
import { type Profile, profiles } from "../../../src/sandbox/engine/profile.ts";
import type { EndpointRecord, OperationRecord } from "../../../src/sandbox/engine/records.ts";
import { Refusal } from "../../../src/sandbox/engine/refusal.ts";
import { defaultEngineSettings } from "../../../src/sandbox/engine/settings.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";

export type { EndpointCreation, EndpointRecord, Mutation, OperationRecord, RolePath };
export { Refusal };
export type ProfileName = Profile["name"];

/** How an engine is made. */
export interface EngineOptions {
  readonly profile: ProfileName;
  readonly seed: number;
  /** Returns epoch milliseconds, which never go back. */
  readonly nowMs: () => number;
  readonly operationLatencyMs: { readonly min: number; readonly max: number };
}

/** The projects and branches of every run. */
export const world = {
  project: "green-fox-1",
  branches: ["br-main-1", "br-orders-1", "br-staging-1", "br-preview-1"],
  freeProject: "tiny-owl-2",
  freeBranches: ["br-main-2", "br-dev-2"],
} as const;

/** What exists when a run begins. */
export const fixture: Fixture = parseFixture(
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
    ],
  }),
);

/** Makes a control plane without network and disk, and a function that reads its endpoints without the list lag. */
export function createEngine({ profile, seed, nowMs, operationLatencyMs }: EngineOptions) {
  const store = new Store();
  const engine = makeEngine({
    store,
    clock: { nowMs },
    profile: profiles[profile],
    settings: { ...defaultEngineSettings, seed, operationLatencyMs },
  });
  engine.reset(fixture);
  const live = (projectId: string): readonly EndpointRecord[] => {
    engine.advance();
    return store.endpoints.ofProject(projectId);
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
  return { engine, live, addEnded };
}
