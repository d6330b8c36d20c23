/** The random steps of a ledger run. */
import type { ResourceKey } from "../../../src/domain/resource-store.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { branchesOf, type LedgerWorld, projects } from "./ledger-world.ts";

/** One action of a client. */
interface Step {
  readonly name: string;
  /** How often the step is chosen, relative to the others. */
  readonly weight: number;
  readonly take: (world: LedgerWorld, random: SeededRandom) => Promise<unknown> | unknown;
}

const sizes = [0.25, 0.5, 1, 2];
const [firstProject, otherProject] = projects;
const branch = (projectId: string, at: number) => branchesOf(projectId)[at] as string;

/** Applies the resources of a run. The last one adopts an endpoint that another client has created. */
export function applyResources(world: LedgerWorld): void {
  const type = "ReadWrite";
  world.apply("main", { projectId: firstProject, branchId: branch(firstProject, 0), type });
  world.apply("side", { projectId: firstProject, branchId: branch(firstProject, 1), type });
  world.apply("replica", { projectId: firstProject, branchId: branch(firstProject, 0), type: "ReadOnly" });
  world.apply("other", { projectId: otherProject, branchId: branch(otherProject, 0), type });
}

/**
 * Performs this number of steps, with random pauses in between.
 * @returns their names
 */
export async function takeSteps(world: LedgerWorld, random: SeededRandom, count: number): Promise<readonly string[]> {
  const taken: string[] = [];
  const weighted = steps.flatMap((step) => Array.from({ length: step.weight }, () => step));
  for (let index = 0; index < count; index += 1) {
    const step = random.pick(weighted);
    taken.push(step.name);
    await step.take(world, random);
    await world.turns(random.below(random.pick([3, 60, 400])));
  }
  return taken;
}

/** Stops the operator, causes many more operations than one page of the log holds, and starts the operator again. */
export async function sleepThroughMany(world: LedgerWorld, random: SeededRandom): Promise<void> {
  await world.stopOperator();
  const key = random.pick(world.store.list()).key;
  for (let round = 0; round < 70; round += 1) {
    await foreign(world, key, (path) => ["POST", `${path}/suspend`]);
    await world.advance(3_000);
    await foreign(world, key, (path) => ["POST", `${path}/start`]);
    await world.advance(3_000);
  }
  world.startOperator();
}

/** Creates an endpoint like another client, and uses it. Then a resource adopts it. */
export async function adoptForeign(world: LedgerWorld): Promise<void> {
  const branchId = branch(otherProject, 1);
  const endpoint = { branch_id: branchId, type: "read_write", suspend_timeout_seconds: -1 };
  await world.setLag(0);
  let endpointId: string | undefined;
  for (let attempt = 0; attempt < 50 && endpointId === undefined; attempt += 1) {
    const made = world.sandbox.api<{ endpoint: { id: string } }>("POST", `/projects/${otherProject}/endpoints`, {
      endpoint,
    });
    endpointId = await made.then((answer) => answer.endpoint.id).catch(() => undefined);
    await world.advance(500);
  }
  if (endpointId === undefined) throw new Error("the project stayed locked");
  await world.advance(5_000);
  await world.adopt("adopted", endpointId, { projectId: otherProject, branchId, type: "ReadWrite" });
}

const anyKey = (world: LedgerWorld, random: SeededRandom): ResourceKey => random.pick(world.store.list()).key;

const steps: readonly Step[] = [
  {
    name: "another size",
    weight: 4,
    take: (world, random) => {
      const units = random.pick(sizes);
      world.edit(anyKey(world, random), { compute: { minUnits: units, maxUnits: units } });
    },
  },
  {
    name: "another delay",
    weight: 2,
    take: (world, random) => {
      const afterSeconds = world.profile === "seed" ? 1 + random.below(5) : 60 + random.below(60);
      world.edit(anyKey(world, random), { suspend: { mode: "After", afterSeconds } });
    },
  },
  {
    name: "moved",
    weight: 1,
    take: (world, random) => {
      const key = { namespace: "shop", name: "side" };
      world.edit(key, { branchId: branch(firstProject, 1 + random.below(3)) });
    },
  },
  {
    name: "power by a foreign hand",
    weight: 4,
    take: (world, random) => {
      const call = random.pick(["start", "suspend", "restart"]);
      return foreign(world, anyKey(world, random), (path) => ["POST", `${path}/${call}`]);
    },
  },
  {
    name: "changed by a foreign hand",
    weight: 2,
    take: (world, random) => {
      const units = random.pick(sizes);
      const endpoint = { autoscaling_limit_min_cu: units, autoscaling_limit_max_cu: units };
      return foreign(world, anyKey(world, random), (path) => ["PATCH", path, { endpoint }]);
    },
  },
  {
    name: "deleted by a foreign hand",
    weight: 1,
    take: (world) => foreign(world, { namespace: "shop", name: "side" }, (path) => ["DELETE", path]),
  },
  {
    name: "an operation will fail",
    weight: 3,
    take: (world, random) =>
      world.sandbox.failNext(random.pick(["start_compute", "suspend_compute", "apply_config", "check_availability"])),
  },
  {
    name: "lists show the past",
    weight: 2,
    take: (world, random) => world.setLag(random.pick([0, 500, 4_000])),
  },
  {
    name: "time passes",
    weight: 2,
    take: (world, random) => world.advance(random.pick([1_000, 10_000, 301_000])),
  },
  {
    name: "the service fails",
    weight: 2,
    take: (world, random) => {
      const match = { method: random.pick(["GET", "PATCH"]), path: "/api/v2/projects/**", times: 1 + random.below(3) };
      const effect = random.pick([{ kind: "status", status: 503 }, { kind: "dropBefore" }, { kind: "dropAfter" }]);
      return world.sandbox.fault(match, effect);
    },
  },
  {
    name: "restart",
    weight: 4,
    take: async (world, random) => {
      await world.stopOperator();
      await world.turns(random.below(100));
      world.startOperator();
    },
  },
  { name: "failover", weight: 3, take: (world) => world.failOver() },
  {
    name: "deleted and applied again",
    weight: 1,
    take: async (world, random) => {
      await world.sandbox.clearFaults();
      const key = { namespace: "shop", name: "other" };
      await world.remove(key);
      world.apply("other", {
        ...{ projectId: otherProject, branchId: branch(otherProject, 2 * random.below(2)), type: "ReadWrite" },
      });
    },
  },
];

/** Sends a call like another client. While the project is locked, the call is refused and has no effect. */
async function foreign(
  world: LedgerWorld,
  key: ResourceKey,
  call: (path: string) => readonly [method: string, path: string, body?: unknown],
): Promise<void> {
  const ownership = world.store.get(key)?.status.ownership;
  if (ownership !== undefined) {
    const [method, path, body] = call(`/projects/${ownership.projectId}/endpoints/${ownership.endpointId}`);
    await world.sandbox.api(method, path, body).catch(() => {});
  }
}
