/** Makes random runs with DatabaseBranches beside ComputeEndpoints and DatabaseAccesses. */
import { createSeededRandom, type SeededRandom } from "../../support/seeded-random.ts";
import { parentRole } from "../oracles/branches.ts";
import { annotations } from "../ports.ts";
import type { Action, Step } from "../run/actions.ts";
import type { RunPlan } from "../run/run.ts";
import { previewSpecs } from "./branch-faults.ts";
import { randomHarm, randomPlanOf, watchHarms } from "./random-plan.ts";
import { branch } from "./specs.ts";

/** Users and faults act during this time. */
const busyMs = 200_000;

/** Draws a random run of two previews of one parent. */
export function randomBranchPlan(seed: number): RunPlan {
  const random = createSeededRandom(seed * 3_266_489_917);
  const world = { seed, busyMs, hasAccesses: true, hasBranches: true, profile: "public" } as const;
  return randomPlanOf(random, world, randomSteps);
}

const { projectId, parent } = previewSpecs.branch;

/** Only a branch without expiry can be protected. */
const withoutLease = { projectId, parent } as const;

const previews = ["pr-1", "pr-2"] as const;
type Preview = (typeof previews)[number];

const parts = ["ApplyBranch", "ApplyEndpoint", "ApplyAccess"] as const;

const actionKinds = [
  ...parts,
  "Reset",
  "Reset",
  "Pause",
  "Lease",
  "LoseBranchStatus",
  "DeleteByHand",
  "Protect",
  "AddChild",
  "Recreate",
  "DeleteBranch",
  "DeleteEndpoint",
  "DeleteAccess",
  "DeletePreview",
  "ListLag",
  ...watchHarms,
  "Crash",
  "Cut",
] as const;
type Kind = (typeof actionKinds)[number];

function randomSteps(random: SeededRandom): readonly Step[] {
  const role: Step = {
    atMs: 500,
    action: { kind: "PersonCreatesRole", branchId: parentRole.branchId, roleName: parentRole.roleName },
  };
  const names = previews.slice(0, 1 + random.below(2));
  const applied = names.flatMap((name) =>
    parts.map((kind): Step => ({ atMs: 1_000 + random.below(20_000), action: actionOf(random, kind, name) })),
  );
  const kinds = actionKinds.filter(() => random.next() < 0.35);
  const more = Array.from({ length: kinds.length === 0 ? 0 : random.below(8) }, (): readonly Step[] => {
    const [atMs, kind, name] = [5_000 + random.below(busyMs - 5_000), random.pick(kinds), random.pick(names)];
    return momentsOf(random, kind).map(({ kind: one, afterMs }) => ({
      atMs: Math.min(atMs + afterMs, busyMs),
      action: actionOf(random, one, name),
    }));
  });
  const free: Step = { atMs: busyMs, action: { kind: "PersonFreesBranches" } };
  return [role, ...applied, ...more.flat(), free].sort((a, b) => a.atMs - b.atMs);
}

/** A namespace goes in any order. A resource is made again before or after the former one is gone. */
function momentsOf(random: SeededRandom, kind: Kind): readonly { readonly kind: Kind; readonly afterMs: number }[] {
  if (kind === "Recreate") {
    return [
      { kind: "DeleteBranch", afterMs: 0 },
      { kind: "ApplyBranch", afterMs: random.below(60_000) },
    ];
  }
  const each: readonly Kind[] = kind === "DeletePreview" ? ["DeleteAccess", "DeleteEndpoint", "DeleteBranch"] : [kind];
  return each.map((one) => ({ kind: one, afterMs: each.length === 1 ? 0 : random.below(3_000) }));
}

function actionOf(random: SeededRandom, kind: Kind, name: Preview): Action {
  switch (kind) {
    case "ApplyBranch":
      return { kind, name, spec: random.next() < 0.6 ? previewSpecs.branch : withoutLease };
    case "Lease":
      return { kind: "ApplyBranch", name, spec: { ...previewSpecs.branch, leaseDurationSeconds: 7_200 } };
    case "ApplyEndpoint":
      return { kind: "Apply", name, spec: { ...previewSpecs.endpoint, branchRef: { name } } };
    case "ApplyAccess":
      return { kind, name, spec: { ...previewSpecs.access, endpointRef: { name } } };
    case "Reset":
      return {
        kind: "AnnotateBranch",
        name,
        annotations: { [annotations.resetRequestedAt]: String(random.below(1_000)) },
      };
    case "Pause":
      return {
        kind: "AnnotateBranch",
        name,
        annotations: { [annotations.paused]: random.next() < 0.4 ? "true" : null },
      };
    case "DeleteByHand":
      return { kind: "PersonChangesBranch", name, change: "Delete" };
    case "Protect":
    case "AddChild":
      return { kind: "PersonChangesBranch", name, change: kind };
    case "LoseBranchStatus":
    case "DeleteBranch":
      return { kind, name };
    case "DeleteEndpoint":
      return { kind: "Delete", name };
    case "DeleteAccess":
    case "DeletePreview":
    case "Recreate":
      return { kind: "DeleteAccess", name };
    default:
      return randomHarm(random, kind, branch(random.below(3)));
  }
}
