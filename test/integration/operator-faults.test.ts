/** Tests the whole operator behind the fault proxy. */
import { expect, onTestFinished, test } from "vitest";
import { serviceAccountAccess, sharedApiServer } from "../support/api-server.ts";
import type { Fault } from "../support/fault-proxy/fault.ts";
import type { FaultProxy } from "../support/fault-proxy/fault-proxy.ts";
import { refuse, requestFaults, streamFaults } from "../support/fault-proxy/known-faults.ts";
import { startProxiedApiServer } from "../support/fault-proxy/proxied-api-server.ts";
import type { RequestMatch } from "../support/fault-proxy/proxied-request.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

/**
 * The whole operator behind the fault proxy, in real time. A fault that takes half a minute to notice is tested only on
 * the watch.
 */

const seeds = Array.from({ length: process.env.LONG === "1" ? 12 : 2 }, (_, index) => index + 1);
const stepCount = 24;

async function startBehindProxy(): Promise<{ readonly proxy: FaultProxy; readonly world: World }> {
  const { url, caFile } = sharedApiServer();
  const { token } = await serviceAccountAccess("endpoint-operator-system", "endpoint-operator");
  const { proxy, kubeconfigFile } = await startProxiedApiServer({ url, caFile, token });
  onTestFinished(() => proxy.stop());
  return { proxy, world: await startWorld({ operatorKubeconfig: kubeconfigFile }) };
}

/** The requests of a reconcile that get faults. */
const requests: readonly RequestMatch[] = [
  { verb: "patch", resource: "computeendpoints", subresource: "status" },
  { verb: "patch", resource: "computeendpoints", subresource: "" },
  { verb: "get", resource: "computeendpoints" },
  { resource: "events" },
];

/** The client notices the bookmark of the far future by silence: three watches in a row send nothing. */
const slow = ["never answered", "never finished", "delayed by 4 s", "half-open", "a bookmark of the far future"];
const quick = (faults: Readonly<Record<string, Fault>>) =>
  Object.entries(faults).filter(([name]) => !slow.includes(name));

interface Step {
  readonly words: string;
  run(world: World, proxy: FaultProxy): Promise<unknown>;
}

/** The replicas that must exist, by name with their size, and those that were deleted. */
interface Wanted {
  readonly sizes: Map<string, number>;
  readonly deleted: string[];
}

function replica(units: number): object {
  return { branchId: branches.main, type: "ReadOnly", compute: { minUnits: units, maxUnits: units } };
}

function drawChange(random: SeededRandom, { sizes, deleted }: Wanted): Step {
  const kind = random.pick(["create", "edit", "edit", "delete"] as const);
  const known = [...sizes.keys()];
  const isNew = kind === "create" || known.length === 0;
  const name = isNew ? `replica-${sizes.size + deleted.length}` : random.pick(known);
  if (kind === "delete" && !isNew) {
    sizes.delete(name);
    deleted.push(name);
    return { words: `delete ${name}`, run: (world) => world.delete(name) };
  }
  const units = 1 + random.below(4);
  sizes.set(name, units);
  return { words: `apply ${name} with ${units}`, run: (world) => world.apply(name, replica(units)) };
}

function drawRequestFault(random: SeededRandom): Step {
  const match = random.pick(requests);
  const [name, fault] = random.pick(quick(requestFaults));
  // The operator reads a single resource only if the result of a write is unknown. All such reads are for one key, and
  // the pause between them doubles each time.
  const times = match.verb === "get" ? 1 : 1 + random.below(3);
  return {
    words: `${JSON.stringify(match)}, ${times} times: ${name}`,
    run: async (_world, proxy) => proxy.inject({ match, fault, times }),
  };
}

/** Draws a fault of a watch. It is rare, because each failure doubles the pause before the next attempt. */
function drawWatchFault(random: SeededRandom): Step {
  const [name, fault] = random.pick(quick(streamFaults));
  return {
    words: `the watch: ${name}`,
    run: async (_world, proxy) =>
      proxy.inject({ match: { verb: "watch", resource: "computeendpoints" }, fault, times: 1 }),
  };
}

/**
 * Makes a random change.
 * @param wanted is filled with what must exist at the end
 */
function drawSteps(seed: number, wanted: Wanted): readonly Step[] {
  const random = createSeededRandom(seed);
  const change = () => drawChange(random, wanted);
  const requestFault = () => drawRequestFault(random);
  const draws = [change, change, change, requestFault, requestFault, () => drawWatchFault(random)];
  return Array.from({ length: stepCount }, () => random.pick(draws)());
}

test.each(seeds)("changes and faults in any order, seed %i → all is made in the end, each once", async (seed) => {
  const { proxy, world } = await startBehindProxy();
  const wanted: Wanted = { sizes: new Map(), deleted: [] };
  const steps = drawSteps(seed, wanted);
  const story = steps.map(({ words }) => words).join("\n");
  const isWatching = () =>
    proxy.requests.some(({ verb, resource }) => verb === "watch" && resource === "computeendpoints") || undefined;
  await waitUntil(isWatching, { what: "the watch is open" });
  for (const step of steps) await step.run(world, proxy);
  // A fault that has had no effect by now may still have one.
  const owned: (string | undefined)[] = [];
  for (const name of wanted.sizes.keys()) owned.push((await world.untilReady(name)).status.ownership?.endpointId);
  for (const name of wanted.deleted) await world.untilGone(name);
  expect(proxy.bites, story).toBeGreaterThan(4);
  proxy.quiet();
  await world.sandbox.untilUnlocked(project);
  const endpoints = await world.sandbox.endpoints(project);
  expect(endpoints.map(({ id }) => id).toSorted(), story).toEqual(owned.toSorted());
  const sizes = endpoints.map((endpoint) => endpoint.autoscaling_limit_max_cu);
  expect(sizes.toSorted(), story).toEqual([...wanted.sizes.values()].toSorted());
  const creates = (await world.sandbox.requests()).filter(({ method, status }) => method === "POST" && status < 300);
  expect(creates.length, story).toBeLessThanOrEqual(wanted.sizes.size + wanted.deleted.length);
});

const statusWrites: RequestMatch = { verb: "patch", resource: "computeendpoints", subresource: "status" };

test("every write of a status is refused → fewer and fewer attempts, nothing is created; lifted → created once", async () => {
  const { proxy, world } = await startBehindProxy();
  const refused = proxy.inject({ match: statusWrites, fault: refuse(500, "InternalError") });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  const attempts = 11;
  const isRefused = () => (refused.bites >= attempts ? true : undefined);
  await waitUntil(isRefused, { what: `${attempts} refused writes`, lastSeen: () => refused.bites });
  const timesMs = proxy.requests.filter(({ subresource }) => subresource === "status").map(({ atMs }) => atMs);
  // The first pause is 5 ms, and each later one is twice as long, or at least half of that. Up to three attempts may come
  // from events at any time, of the apply, of the finalizer and of a list that ends late. The pauses before the other
  // seven attempts add up to at least 317 ms.
  expect((timesMs[attempts - 1] ?? 0) - (timesMs[0] ?? 0)).toBeGreaterThan((5 * (2 ** 7 - 1)) / 2 - 1);
  expect((await world.sandbox.requests()).filter(({ method }) => method === "POST")).toEqual([]);
  proxy.quiet();
  await world.untilReady("orders");
  expect(await world.sandbox.endpoints(project)).toHaveLength(1);
});

test("the answer to every write is lost → Ready all the same, created once, deleted in the end", async () => {
  const { proxy, world } = await startBehindProxy();
  const lost = proxy.inject({ match: { verb: "patch" }, fault: requestFaults["the answer is lost"] });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await world.untilReady("orders");
  const creates = (await world.sandbox.requests()).filter(({ method }) => method === "POST");
  expect(creates).toHaveLength(1);
  await world.delete("orders");
  await world.untilGone("orders");
  expect(await world.sandbox.endpoints(project)).toEqual([]);
  expect(lost.bites).toBeGreaterThan(3);
});

test("answers to writes are lost and the watch is half-open → Ready by what is read after each doubt", async () => {
  const { proxy, world } = await startBehindProxy();
  const lost = proxy.inject({ match: { verb: "patch" }, fault: requestFaults["the answer is lost"] });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await waitUntil(() => (lost.bites > 0 ? true : undefined), { what: "the first answer is lost" });
  const muted = proxy.inject({
    match: { verb: "watch", resource: "computeendpoints" },
    fault: streamFaults["half-open"],
  });
  expect(muted.bites).toBe(1);
  await world.untilReady("orders");
  expect(await world.sandbox.endpoints(project)).toHaveLength(1);
  expect((await world.sandbox.requests()).filter(({ method }) => method === "POST")).toHaveLength(1);
});
