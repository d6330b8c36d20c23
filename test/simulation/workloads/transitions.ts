/** Chains of changes that lead through every transition of spec. */
import { createSeededRandom } from "../../support/seeded-random.ts";
import { type ProfileName, world as places } from "../control-plane/engine.ts";
import type { JsonObject } from "../kubernetes/merge-patch.ts";
import { differences } from "../oracles/at-rest.ts";
import { planOf } from "../run/plain-plan.ts";
import { type RunPlan, run } from "../run/run.ts";
import { conditionOf } from "../run/settled.ts";
import { ownershipOf, specOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import { branch, size } from "./specs.ts";

/**
 * Each field of spec with its interesting values. `{}` means that the field is absent. Some values are refused by the
 * API server or the control plane.
 */
const fields: Readonly<Record<string, readonly JsonObject[]>> = {
  compute: [
    {},
    size(0.25),
    size(0.5),
    size(1),
    size(2),
    size(0.25, 2),
    size(1, 8),
    size(16),
    size(56),
    size(3.5),
    size(2, 1),
  ],
  suspend: [
    {},
    { suspend: { mode: "After", afterSeconds: 60 } },
    { suspend: { mode: "After", afterSeconds: 604_800 } },
    { suspend: { mode: "After", afterSeconds: 5 } },
    { suspend: { mode: "Never" } },
    { suspend: { mode: "ServiceDefault" } },
    { suspend: { mode: "After" } },
  ],
  pooler: [{}, { pooler: {} }, { pooler: { enabled: true } }, { pooler: { enabled: false, mode: "Transaction" } }],
  settings: [
    {},
    { settings: { pgSettings: {} } },
    { settings: { pgSettings: { work_mem: "4MB" } } },
    { settings: { pgSettings: { work_mem: "8MB", "log.min": "1" } } },
  ],
  disabled: [{}, { disabled: true }, { disabled: false }],
  branchId: [branch(0), branch(1), branch(2), "br-that-is-not-there"].map((branchId) => ({ branchId })),
  adoption: [
    {},
    { adoption: { policy: "Never" } },
    { adoption: { policy: "AdoptOrCreate" } },
    { adoption: { policy: "Never", endpointId: "ep-1" } },
  ],
  deletionPolicy: [{}, { deletionPolicy: "Delete" }, { deletionPolicy: "Retain" }],
};

/** A resource whose spec changes step by step. */
export interface Chain {
  readonly name: string;
  readonly profile: ProfileName;
  /** The change of each step. It is applied together with all changes before it. */
  readonly specs: readonly JsonObject[];
}

/** After five minutes, a wrong spec makes the resource Stalled. The next step comes after that. */
const dwellMs = 400_000;
const longestChain = 9;
const randomChains = 60;

/** Every ordered pair of values of each field, and random sequences over all fields. */
export const chains: readonly Chain[] = (["seed", "public"] as const).flatMap((profile) => [
  ...Object.entries(fields).flatMap(([field, values]) => chainsOfField(profile, field, values)),
  ...Array.from({ length: randomChains }, (_, at) => randomChain(profile, at)),
]);

/** The number of transitions. */
export const transitionCount: number = chains.reduce((sum, { specs }) => sum + specs.length - 1, 0);

function base(): JsonObject {
  return { projectId: places.project, branchId: branch(1), type: "ReadWrite" };
}

/** Makes chains of limited length that lead from each value to each other value. */
function chainsOfField(profile: ProfileName, field: string, values: readonly JsonObject[]): readonly Chain[] {
  const walk = values.flatMap((from, at) => values.slice(at + 1).flatMap((to) => [from, to, from]));
  const merged = walk.filter((value, at) => at === 0 || value !== walk[at - 1]);
  const parts = Array.from({ length: Math.ceil(merged.length / (longestChain - 1)) }, (_, at) =>
    merged.slice(at * (longestChain - 1), at * (longestChain - 1) + longestChain),
  ).filter((part) => part.length > 1);
  return parts.map((part, at) => ({
    name: `${field} ${at + 1}, ${profile}`,
    profile,
    specs: part.map((value) => ({ ...base(), ...value })),
  }));
}

function randomChain(profile: ProfileName, at: number): Chain {
  const random = createSeededRandom(at + (profile === "seed" ? 1_000 : 2_000));
  let parts: Record<string, JsonObject> = {};
  const specs = Array.from({ length: longestChain }, () => {
    const field = random.pick(Object.keys(fields));
    parts = { ...parts, [field]: random.pick(fields[field] as readonly JsonObject[]) };
    return Object.assign(base(), ...Object.values(parts)) as JsonObject;
  });
  return { name: `walk ${at + 1}, ${profile}`, profile, specs };
}

/** Runs a chain. @returns what is wrong after which step, in words */
export async function runChain(chain: Chain, freshCreates: FreshCreates): Promise<readonly string[]> {
  const problems: string[] = [];
  const ends: { readonly step: string; readonly spec: JsonObject | undefined; readonly state: string }[] = [];
  const probes = chain.specs.map((given, at) => ({
    atMs: (at + 1) * dwellMs - 1,
    look: (world: World) => {
      const step = `step ${at + 1}, ${JSON.stringify(given)}`;
      // A spec that the API server has refused is not stored, so the spec before it is still valid.
      const stored = world.stored("orders");
      ends.push({ step, spec: stored === undefined ? undefined : specOf(stored), state: stateOf(world) });
      problems.push(...differencesNow(world).map((field) => `${step}: Ready, but it differs in ${field}`));
    },
  }));
  const { violations } = await run(chainPlan(chain.profile, chain.specs), probes);
  problems.push(...violations.map(({ promise, text }) => `${promise}: ${text}`));
  for (const { step, spec, state } of ends) {
    const want = spec === undefined ? "not stored" : await freshCreates.stateOf(chain.profile, spec);
    if (state !== want) problems.push(`${step}: ${state}, but a fresh create comes to ${want}`);
  }
  return problems;
}

function chainPlan(profile: ProfileName, specs: readonly JsonObject[]): RunPlan {
  return planOf({
    world: { seed: 5, profile },
    steps: specs.map((spec, at) => ({ atMs: at * dwellMs + 1_000, action: { kind: "Apply", name: "orders", spec } })),
    quietFromMs: specs.length * dwellMs,
    restWithinMs: dwellMs,
  });
}

/** Returns the managed fields in which the endpoint of a Ready resource differs from its spec. */
function differencesNow(world: World): readonly string[] {
  const stored = world.stored("orders");
  const endpoint = world.endpoints().find(({ id }) => stored && id === ownershipOf(stored)?.endpointId);
  const isReady = stored !== undefined && conditionOf(stored, "Ready")?.status === "True";
  return isReady && endpoint !== undefined ? differences(stored, endpoint, world.controlPlane.echoesNames) : [];
}

/** A spec with two errors may be refused for either of them. */
const refusals: readonly unknown[] = ["Rejected", "BranchNotFound"];

/**
 * Returns whether the resource is Ready, and its reason. The endpoint is not part of the result, because a field that
 * spec no longer manages keeps its value.
 */
function stateOf(world: World): string {
  const stored = world.stored("orders");
  if (stored === undefined) return "not stored";
  const ready = conditionOf(stored, "Ready");
  const reason = conditionOf(stored, "Stalled")?.reason ?? ready?.reason;
  const isCurrent = ready?.observedGeneration === stored.metadata.generation;
  return `Ready ${ready?.status} ${refusals.includes(reason) ? "refused" : reason}${isCurrent ? "" : " of an old spec"}`;
}

/** The end states of resources that are created with each spec. Each spec is tried once. */
export class FreshCreates {
  readonly #states = new Map<string, Promise<string>>();

  stateOf(profile: ProfileName, spec: JsonObject): Promise<string> {
    const key = `${profile} ${JSON.stringify(spec)}`;
    const known = this.#states.get(key) ?? freshState(profile, spec);
    this.#states.set(key, known);
    return known;
  }
}

async function freshState(profile: ProfileName, spec: JsonObject): Promise<string> {
  let state = "";
  const look = (world: World) => {
    state = stateOf(world);
  };
  await run(chainPlan(profile, [spec]), [{ atMs: dwellMs - 1, look }]);
  return state;
}
