/** Runs one preview, a branch with its endpoint and its access, with one fault at each effect. */
import type { Fault } from "../faults/fault.ts";
import { parentRole } from "../oracles/branches.ts";
import { annotations } from "../ports.ts";
import type { Step } from "../run/actions.ts";
import { planOf } from "../run/plain-plan.ts";
import { run } from "../run/run.ts";
import { conditionOf } from "../run/settled.ts";
import type { World } from "../run/world.ts";

export interface PreviewRun {
  readonly world: World;
  /** The keys of the effects, in order. */
  readonly effects: readonly string[];
  /** The problems, in words. */
  readonly problems: readonly string[];
}

/** When all is there, and before anything is deleted, in true milliseconds. A create or reset without an answer waits. */
const judgeMs = 560_000;

export const previewSpecs = {
  branch: {
    projectId: parentRole.projectId,
    parent: { branchId: parentRole.branchId },
    leaseDurationSeconds: 3_600,
  },
  endpoint: { projectId: parentRole.projectId, branchRef: { name: "pr" }, type: "ReadWrite" },
  access: {
    endpointRef: { name: "orders" },
    database: { name: "orders", deletionPolicy: "Delete" },
    role: { name: parentRole.roleName },
  },
} as const;

const steps: readonly Step[] = [
  { atMs: 500, action: { kind: "PersonCreatesRole", branchId: parentRole.branchId, roleName: parentRole.roleName } },
  { atMs: 5_000, action: { kind: "ApplyBranch", name: "pr", spec: previewSpecs.branch } },
  { atMs: 5_500, action: { kind: "Apply", name: "orders", spec: previewSpecs.endpoint } },
  { atMs: 6_000, action: { kind: "ApplyAccess", name: "app", spec: previewSpecs.access } },
  {
    atMs: 60_000,
    action: { kind: "AnnotateBranch", name: "pr", annotations: { [annotations.resetRequestedAt]: "1" } },
  },
  { atMs: judgeMs + 1_000, action: { kind: "DeleteBranch", name: "pr" } },
  { atMs: judgeMs + 1_000, action: { kind: "Delete", name: "orders" } },
  { atMs: judgeMs + 1_000, action: { kind: "DeleteAccess", name: "app" } },
];

/** Runs the workload with at most one fault. */
export async function runPreview(single?: { readonly key: string; readonly fault: Fault }): Promise<PreviewRun> {
  const problems: string[] = [];
  const plan = planOf({
    world: { seed: 7, hasAccesses: true, hasBranches: true },
    ...(single && { faults: { kind: "Scripted", faults: { [single.key]: single.fault } } }),
    steps,
    quietFromMs: 600_000,
    restWithinMs: 500_000,
  });
  const judge = { atMs: judgeMs, look: (world: World) => void problems.push(...problemsWhileWanted(world)) };
  const { world, violations } = await run(plan, [judge]);
  problems.push(...violations.map(({ promise, text }) => `${promise}: ${text}`));
  problems.push(...leftovers(world));
  return { world, effects: world.faults.effects, problems };
}

function problemsWhileWanted(world: World): readonly string[] {
  return [...world.branches(), ...world.resources(), ...world.accesses()].flatMap((stored) => {
    const { status, reason, message } = conditionOf(stored, "Ready") ?? {};
    return status === "True" ? [] : [`${stored.kind} is not Ready: ${reason}: ${message}`];
  });
}

function leftovers(world: World): readonly string[] {
  const left = [...world.branches(), ...world.resources(), ...world.accesses()];
  return left.map(({ kind, metadata }) => `${kind} ${metadata.name} is left`);
}
