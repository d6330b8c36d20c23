/** Tests that the plan of `kubectl endpoints` is what a fresh operator does. */
import { isDeepStrictEqual } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import type { Observation, Plan } from "../../../src/kinds/endpoint/plan.ts";
import type { ReadKind } from "../../../src/plugin/cluster.ts";
import { planNow } from "../../../src/plugin/plan.ts";
import type { ComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { identity, policy } from "../../unit/kinds/endpoint/builders.ts";
import { type Factors, product } from "../../unit/kinds/endpoint/product/factors.ts";
import { claimsOf, createGiven } from "../../unit/kinds/endpoint/product/given.ts";
import { type Call, ObservedWorld } from "./fresh-operator.ts";

/** The effect of a plan, or of one reconcile: calls, writes, and the reason in status. */
interface Effect {
  readonly calls: readonly Call[];
  readonly finalizer: "Added" | "Removed" | "Kept";
  readonly ownership: unknown;
  readonly hasIntent: boolean;
  /** The reason of Ready, if the plan sets one. */
  readonly reason: string | undefined;
}

type Planned = Awaited<ReturnType<typeof planNow>>;

let fresh = 0;
let compared = 0;
/** The levels of the factors in all cases, and in those that were compared. */
const [levels, comparedLevels] = [new Set<string>(), new Set<string>()];
const kinds = new Map<Plan["kind"], number>();
const differences: string[] = [];
const writes: string[] = [];

/**
 * Whether a new process could know this case. It cannot know an answer that is not stored, refused POSTs, or elapsed
 * time.
 */
function isFresh({ posts, isSettled }: Factors): boolean {
  return posts === "Unresolved" && !isSettled;
}

/** Whether the case is consistent: the control plane shows names only if at least one of its endpoints has a name. */
function isVisible({ project: { echoesNames, endpoints } }: Observation): boolean {
  return echoesNames === [...endpoints.values()].some(({ name }) => name !== undefined);
}

/** Whether the operator needs no read for the plan. Then it adds no finalizer either. */
function isStanding(plan: Plan): boolean {
  const reasons: readonly string[] = ["Paused", "InvalidSpec", "IdentityUnproven"];
  return "reason" in plan && reasons.includes(plan.reason);
}

function effectOf(
  { plan, afterOperation }: Planned,
  { status, deletionTimestamp, finalizers }: ComputeEndpoint,
): Effect {
  const isNew = deletionTimestamp === undefined && finalizers.length === 0;
  const nothing: Effect = {
    ...{ calls: [], finalizer: isNew && !isStanding(plan) ? "Added" : "Kept", reason: undefined },
    ...{ ownership: status.ownership, hasIntent: status.createIntent !== undefined },
  };
  // The project is locked: the change is sent later.
  if (afterOperation !== undefined) return nothing;
  switch (plan.kind) {
    case "Look":
    case "Idle":
      return nothing;
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
    case "Observe":
      return { ...nothing, reason: "Observed" };
    case "Settled":
      return { ...nothing, reason: "UpToDate" };
  }
}

/** Returns the effect of one reconcile. */
function effectIn(world: ObservedWorld, step: Planned): Effect {
  const { store, resource, calls } = world;
  const stored = world.stored() ?? resource;
  const isStated = effectOf(step, resource).reason !== undefined;
  const isAdded = store.writes[0] === "addFinalizer";
  return {
    calls,
    finalizer: store.writes.includes("removeFinalizer") ? "Removed" : isAdded ? "Added" : "Kept",
    ownership: stored.status.ownership,
    hasIntent: stored.status.createIntent !== undefined,
    reason: isStated ? conditionOf(stored.status.conditions, "Ready")?.reason : undefined,
  };
}

/** @param factors only for the message */
async function compare(factors: object, world: ObservedWorld): Promise<void> {
  const { resource, clock, controlPlane } = world;
  const settings = {
    ...policy,
    projectGrants: "WhenUsed" as const,
    clusterId: identity.clusterId,
    watchNamespaces: [],
  };
  const reads = { cluster: clusterOf(world), controlPlane, settings, clock };
  const step = await planNow(reads, resource).catch((error: Error) => error);
  if (world.calls.length + world.store.writes.length > 0) writes.push(JSON.stringify(factors));
  await world.reconcile();
  if (step instanceof Error) {
    // The endpoint cannot be read, or status has another URL than the environment. Then nothing is sent.
    const isExpected = step instanceof ControlPlaneError || step.message.startsWith("CONTROL_PLANE_URL is");
    if (world.calls.length > 0 || !isExpected)
      differences.push(`${step.message}: ${JSON.stringify({ factors, calls: world.calls })}`);
    return;
  }
  const { kind } = step.plan;
  kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const wanted = effectOf(step, resource);
  const found = effectIn(world, step);
  if (!isDeepStrictEqual(found, wanted)) differences.push(JSON.stringify({ kind, wanted, found, factors }));
}

/** What the user's rights show of the cluster. */
function clusterOf({ resource, siblings }: ObservedWorld) {
  const { namespace } = resource.key;
  const stored = { metadata: { name: namespace, uid: "uid-namespace", resourceVersion: "1" } };
  const get = async <Resource>(kind: ReadKind<Resource>) => kind.parse(stored);
  const list = async <Resource>(kind: ReadKind<Resource>) =>
    (kind.plural === "namespaces" ? [await get(kind)] : [resource, ...siblings]) as readonly Resource[];
  return { list, get, clusterId: () => Promise.reject(new Error("unreachable")) };
}

/**
 * Every eleventh case is compared: plugin and operator decide by the same code, so this proves only the reads around it.
 * The number is prime, so that every level of each factor occurs.
 */
const stride = process.env.LONG === "1" ? 1 : 11;

/** A new resource is no factor of the product. It is compared with one of so many cases. */
const newStride = 61;

async function compareProduct(): Promise<void> {
  const givenBy = createGiven();
  for (const factors of product()) {
    if (!isFresh(factors)) continue;
    const given = givenBy(factors);
    if (!isVisible(given)) continue;
    fresh += 1;
    note(levels, factors);
    if (fresh % stride === 0) await compareOne(factors, given);
    if (fresh % newStride !== 0) continue;
    const { resource } = given;
    const isNew = resource.deletionTimestamp === undefined && resource.status.ownership === undefined;
    if (isNew) await compare({ isNew, factors }, new ObservedWorld(withoutFinalizer(given), claimsOf(factors)));
  }
}

async function compareOne(factors: Factors, given: Observation): Promise<void> {
  await compare(factors, new ObservedWorld(given, claimsOf(factors)));
  compared += 1;
  note(comparedLevels, factors);
}

function note(seen: Set<string>, factors: Factors): void {
  for (const level of Object.entries(factors)) seen.add(String(level));
}

function withoutFinalizer(given: Observation): Observation {
  return { ...given, resource: { ...given.resource, finalizers: [] } };
}

beforeAll(compareProduct);

describe("the plan of a resource, and one reconcile of an operator that has just started", () => {
  test("every eleventh plan of the product that a fresh process can make → what the operator then does", () => {
    expect([fresh, compared]).toEqual([131_148, Math.floor(131_148 / stride)]);
    expect(comparedLevels).toEqual(levels);
    expect([...kinds.keys()].sort()).toEqual([
      ...["CloseIntent", "CreateEndpoint", "DeleteEndpoint", "ForgetEndpoint", "Idle", "Look"],
      ...["MoveEndpoint", "RecordOwnership", "RemoveFinalizer", "Settled", "Stall", "UpdateEndpoint", "Wait"],
    ]);
    expect(differences.slice(0, 3)).toEqual([]);
  });

  test("a plan → writes nothing", () => {
    expect(writes).toEqual([]);
  });
});
