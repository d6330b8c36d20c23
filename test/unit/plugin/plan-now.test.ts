import { isDeepStrictEqual } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import type { Observation } from "../../../src/decide/observation.ts";
import type { Plan } from "../../../src/decide/plan.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { type PlannedStep, planNow } from "../../../src/plugin/plan-now.ts";
import type { ComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { identity } from "../decide/builders.ts";
import { type Factors, product } from "../decide/product/factors.ts";
import { claimsOf, createGiven } from "../decide/product/given.ts";
import { type Call, ObservedWorld } from "./fresh-operator.ts";

/** Of the cases that a fresh process can meet, each so-manieth is compared; with LONG=1 all of them. A prime, so that all levels come up. */
const stride = process.env.LONG === "1" ? 1 : 61;
const timeoutMs = stride === 1 ? 900_000 : 60_000;

/** What a plan does, or what one reconcile did: the request, the write, or what status says. */
interface Effect {
  readonly calls: readonly Call[];
  readonly finalizer: "Added" | "Removed" | "Kept";
  readonly ownership: unknown;
  readonly hasIntent: boolean;
  /** Reason of Ready, if the plan states one. */
  readonly reason: string | undefined;
}

const kinds = new Map<Plan["kind"], number>();
const differences: string[] = [];
const writes: string[] = [];

/** What only a running process knows cannot be in a plan: an answer that is not stored, refused posts, elapsed time. */
function isFresh({ isAnswered, posts, isSettled }: Factors): boolean {
  return !isAnswered && posts === "Unresolved" && !isSettled;
}

/** Whether names are shown must follow from the endpoints that are shown. */
function isVisible({ project: { echoesNames, endpoints } }: Observation): boolean {
  return echoesNames === [...endpoints.values()].some(({ name }) => name !== undefined);
}

function effectOf({ plan, afterOperation }: PlannedStep, { status, deletionTimestamp }: ComputeEndpoint): Effect {
  const nothing: Effect = {
    ...{ calls: [], finalizer: "Kept", reason: undefined },
    ...{ ownership: status.ownership, hasIntent: status.createIntent !== undefined },
  };
  // The project is locked: the change is sent later.
  if (afterOperation !== undefined) return nothing;
  switch (plan.kind) {
    case "AddFinalizer":
      return { ...nothing, finalizer: "Added" };
    case "RemoveFinalizer":
      return { ...nothing, finalizer: "Removed" };
    case "CreateEndpoint":
      return { ...nothing, calls: [["create", plan.creation]], hasIntent: true };
    case "CloseIntent":
      return { ...nothing, hasIntent: false };
    case "RecordOwnership":
      return { ...nothing, ownership: plan.ownership, hasIntent: false };
    case "ForgetEndpoint":
      return { ...nothing, ownership: undefined };
    case "UpdateEndpoint":
      return { ...nothing, calls: [["update", plan.endpointId, plan.changes]] };
    case "MoveEndpoint":
      return { ...nothing, calls: [["update", plan.endpointId, { branchId: plan.branchId }]] };
    case "ChangePower":
      return { ...nothing, calls: [["power", plan.endpointId, plan.action]] };
    case "DeleteEndpoint":
      return { ...nothing, calls: [["delete", plan.endpointId]] };
    case "Wait":
    case "Stall":
      return { ...nothing, reason: plan.reason };
    case "Settled":
      // A resource that is being deleted without our finalizer is left alone, status included.
      return { ...nothing, reason: deletionTimestamp === undefined ? "UpToDate" : undefined };
  }
}

/** What one reconcile has done. After an added finalizer the operator goes on at once; that is another plan. */
function effectIn(world: ObservedWorld, step: PlannedStep): Effect {
  const { store, resource, calls } = world;
  if (step.plan.kind === "AddFinalizer")
    return { ...effectOf(step, resource), finalizer: store.writes[0] === "addFinalizer" ? "Added" : "Kept" };
  const stored = world.stored() ?? resource;
  const isStated = effectOf(step, resource).reason !== undefined;
  return {
    calls,
    finalizer: store.writes.includes("removeFinalizer") ? "Removed" : "Kept",
    ownership: stored.status.ownership,
    hasIntent: stored.status.createIntent !== undefined,
    reason: isStated ? conditionOf(stored.status.conditions, "Ready")?.reason : undefined,
  };
}

async function compare(factors: Factors, world: ObservedWorld): Promise<void> {
  const { resource, siblings: others, clock, controlPlane } = world;
  const step = await planNow({ resource, others, identity, clock, controlPlane }).catch((error: unknown) => {
    if (error instanceof ControlPlaneError) return error;
    throw error;
  });
  if (world.calls.length + world.store.writes.length > 0) writes.push(JSON.stringify(factors));
  await world.reconcile();
  if (step instanceof ControlPlaneError) {
    // The endpoint cannot be read: neither of the two knows what to do, and nothing is sent.
    if (world.calls.length > 0) differences.push(`${step.reason}: ${JSON.stringify({ factors, calls: world.calls })}`);
    return;
  }
  const { kind } = step.plan;
  kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const wanted = effectOf(step, resource);
  const found = effectIn(world, step);
  if (!isDeepStrictEqual(found, wanted)) differences.push(JSON.stringify({ kind, wanted, found, factors }));
}

beforeAll(async () => {
  const givenBy = createGiven();
  let fresh = 0;
  for (const factors of product()) {
    if (!isFresh(factors)) continue;
    fresh += 1;
    if (fresh % stride !== 0) continue;
    const given = givenBy(factors);
    if (isVisible(given)) await compare(factors, new ObservedWorld(given, claimsOf(factors)));
  }
}, timeoutMs);

describe("the plan of a resource, and one reconcile of an operator that has just started", () => {
  test("every plan of the product → is what the operator then does", () => {
    expect([...kinds.keys()].sort()).toEqual([
      ...["AddFinalizer", "CloseIntent", "CreateEndpoint", "DeleteEndpoint", "ForgetEndpoint", "MoveEndpoint"],
      ...["RecordOwnership", "RemoveFinalizer", "Settled", "Stall", "UpdateEndpoint", "Wait"],
    ]);
    expect(differences.slice(0, 3)).toEqual([]);
  });

  test("a plan → writes nothing", () => {
    expect(writes).toEqual([]);
  });
});
