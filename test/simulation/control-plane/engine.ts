/**
 * The sandbox's engine in memory. Only this file knows how the engine and its store are made, and what the records
 * contain.
 */

import type { DatabasePath, RolePath } from "../../../src/sandbox/engine/branch-contents.ts";
import { Engine } from "../../../src/sandbox/engine/engine.ts";
import { type Fixture, parseFixture } from "../../../src/sandbox/engine/fixture.ts";
import { type Profile, profiles } from "../../../src/sandbox/engine/profile.ts";
import type { EndpointRecord, OperationRecord, RoleRecord, StoreContent } from "../../../src/sandbox/engine/records.ts";
import { Refusal } from "../../../src/sandbox/engine/refusal.ts";
import { defaultEngineSettings } from "../../../src/sandbox/engine/settings.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";
import type { Operation } from "../ports.ts";

export type { DatabasePath, EndpointRecord, OperationRecord, Profile, RolePath, RoleRecord, StoreContent };
export { Refusal };
export type ProfileName = Profile["name"];

export type EngineAction = OperationRecord["action"];

/** A status with which an operation ends that the engine does not know. */
export type ClosedStatus = "cancelled" | "skipped";

/** Operations that the control plane itself carries out. */
export interface EndedWork {
  readonly action: EngineAction;
  readonly status: ClosedStatus | "finished" | "failed";
  /** Whether they name the branch and no endpoint. */
  readonly isOfBranch: boolean;
}

/** The planned error of an operation that ends with a status which the engine does not know. */
const closing = (status: ClosedStatus) => `(${status})`;

/**
 * Returns the status, error and number of failures of an operation as the control plane shows them. An operation that
 * was cancelled or skipped has changed nothing, and has not failed.
 */
export function endOf({
  status,
  error,
  failuresCount,
}: OperationRecord): Pick<Operation, "status" | "error" | "failuresCount"> {
  const closed = (["cancelled", "skipped"] as const).find((each) => error === closing(each));
  return closed === undefined
    ? { status, error, failuresCount }
    : { status: closed, error: undefined, failuresCount: 0 };
}

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
  const engine = new Engine({
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
  /** Adds ended operations of an endpoint or its branch to the log. */
  const addEnded = (
    { id, projectId, branchId }: EndpointRecord,
    count: number,
    { action, status, isOfBranch }: EndedWork = { action: "check_availability", status: "finished", isOfBranch: false },
  ): void => {
    const isClosed = status === "cancelled" || status === "skipped";
    const end = isClosed
      ? ({ status: "failed", error: closing(status), failuresCount: 1 } as const)
      : { status, failuresCount: status === "failed" ? 1 : 0 };
    const time = nowMs();
    for (let each = 0; each < count; each += 1) {
      const sequence = store.counters.get("sequence") + 1;
      store.counters.set("sequence", sequence);
      const times = { runsAtMs: time, endsAtMs: time, createdMs: time, updatedMs: time };
      const subject = { projectId, branchId, endpointId: isOfBranch ? undefined : id };
      store.operations.put({ id: `op-log-${sequence}`, sequence, ...subject, ...times, action, ...end });
    }
  };
  const closeNext = (action: EngineAction, status: ClosedStatus): void =>
    engine.failNext({ action, endpointId: undefined, times: 1, error: closing(status) });
  return { engine, live, putBack, addEnded, closeNext };
}
