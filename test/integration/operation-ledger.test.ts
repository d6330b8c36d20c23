/** Tests on a real API server that ended operations are counted exactly once. */
import { expect, test } from "vitest";
import { outcomeOf } from "../../src/domain/operation.ts";
import { adminKubectl, createTestNamespace, sharedApiServer } from "../support/api-server.ts";
import {
  countsOf,
  differences,
  expectedCounts,
  type LoggedOperation,
  loggedSeconds,
  secondsOf,
  sumOf,
} from "../support/expected-counts.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorldAt, type World } from "../support/world.ts";

const runs = process.env.LONG === "1" ? 20 : 2;
const names = ["orders", "staging"] as const;
const base = { type: "ReadWrite", suspend: { mode: "Never" } } as const;
const specs = {
  orders: { ...base, branchId: branches.orders },
  staging: { ...base, branchId: branches.staging },
};

async function operationsOf(world: World): Promise<readonly LoggedOperation[]> {
  const path = `/projects/${project}/operations?limit=1000`;
  return (await world.sandbox.api<{ operations: readonly LoggedOperation[] }>("GET", path)).operations;
}

async function endpointIdOf(world: World, name: string): Promise<string | undefined> {
  return (await world.get(name))?.status.ownership?.endpointId;
}

/**
 * Starts or suspends a compute, like another client. While the project is locked, the call is refused and has no
 * effect.
 */
async function power(world: World, name: string, call: string): Promise<void> {
  const path = `/projects/${project}/endpoints/${await endpointIdOf(world, name)}/${call}`;
  await world.sandbox.api("POST", path).catch(() => {});
}

type Step = (world: World, random: SeededRandom) => Promise<unknown>;

const steps: Readonly<Record<string, Step>> = {
  "another size": (world, random) => {
    const name = random.pick(names);
    const units = random.pick([0.25, 0.5, 1, 2]);
    return world.apply(name, { ...specs[name], compute: { minUnits: units, maxUnits: units } });
  },
  "power by a foreign hand": (world, random) =>
    power(world, random.pick(names), random.pick(["start", "suspend", "restart"])),
  "an operation will fail": (world, random) =>
    world.sandbox.failNext(random.pick(["start_compute", "suspend_compute", "apply_config"])),
  "lists show the past": (world, random) =>
    world.sandbox.control("PUT", "/lists/lag", { milliseconds: random.pick([0, 300, 1_500]) }),
  restart: (world) => world.restartOperator(),
  "handed over": (world) => world.handOver(),
};

/** Stops the operator while more operations end than one page of the log holds. */
async function sleepThroughMany(world: World): Promise<void> {
  await world.stopOperator();
  for (let round = 0; round < 60; round += 1) {
    for (const call of ["suspend", "start"]) {
      await power(world, "orders", call);
      await world.sandbox.control("POST", "/clock/advance", { milliseconds: 2_000 });
    }
  }
  await world.startOperator();
}

async function settle(world: World): Promise<void> {
  await world.sandbox.control("PUT", "/lists/lag", { milliseconds: 0 });
  let known = -1;
  await waitUntil(
    async () => {
      await world.sandbox.untilUnlocked(project);
      for (const name of names) await world.reconcile(name);
      const operations = await operationsOf(world);
      const isQuiet = operations.length === known && operations.every((each) => outcomeOf(each) !== "InFlight");
      known = operations.length;
      return isQuiet || undefined;
    },
    { what: "everything comes to rest" },
  );
  await world.stopOperator();
}

/**
 * The same on simulated time: the named cases of test/simulation/cases/counts.ts. There are few runs here, because
 * starting kubectl takes long.
 */
test.each(Array.from({ length: runs }, (_, index) => index + 1))(
  "seed %i, restarts and replicas that hand over, kept by a real API server → counted exactly what ended",
  async (seed) => {
    const random = createSeededRandom(seed);
    const namespace = await createTestNamespace("ledger");
    const place = { namespace, kubectl: adminKubectl(), kubeconfigFile: sharedApiServer().kubeconfigFile };
    const world = await startWorldAt(place, {
      sandbox: { profile: seed % 2 === 0 ? "public" : "seed", operationLatencyMs: { min: 100, max: 400 }, seed },
      environment: { LEADER_ELECTION: "true", LEASE_NAMESPACE: namespace },
    });
    for (const name of names) await world.apply(name, specs[name]);
    for (const name of names) await world.untilReady(name);
    const taken = ["asleep"];
    await sleepThroughMany(world);
    for (let index = 0; index < 12; index += 1) {
      const name = random.pick(Object.keys(steps));
      taken.push(name);
      await steps[name]?.(world, random);
    }
    await settle(world);
    const owned = new Map(
      (await Promise.all(names.map((name) => endpointIdOf(world, name)))).map((id) => [id ?? "", {}]),
    );
    const logged = await operationsOf(world);
    const expected = expectedCounts(logged, owned);
    const counted = sumOf(world.lastPages.map(countsOf));
    const story = `seed ${seed}, ${world.lastPages.length} processes: ${taken.join(", ")}`;
    expect(differences(expected, counted), story).toEqual([]);
    expect(counted.get("suspend_compute succeeded"), story).toBeGreaterThan(40);
    const seconds = sumOf(world.lastPages.map(secondsOf));
    for (const [id, truth] of loggedSeconds(logged, new Set(owned.keys()))) {
      expect(seconds.get(id), `how long ${id} took, most of it while no operator ran`).toBeCloseTo(truth, 3);
    }
  },
);
