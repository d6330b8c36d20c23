/** Compares the operations that the sandbox lists with those that the metrics count. */
import assert from "node:assert/strict";
import { parsePage } from "../support/metrics-page.ts";
import { waitUntil } from "../support/wait-until.ts";
import { operatorPods, sampleProject, type World } from "./world.ts";

/** The number of ended operations, by action. */
export type Counts = Readonly<Record<string, number>>;

interface Operation {
  readonly id: string;
  readonly action: string;
  readonly status: string;
  readonly endpoint_id?: string;
}

/** Returns every operation of the sample project, as the sandbox lists them. */
async function listOperations({ sandbox }: World): Promise<readonly Operation[]> {
  const found: Operation[] = [];
  let cursor = "";
  for (let page = 0; page < 100; page += 1) {
    const answer = await sandbox.api<{
      readonly operations: readonly Operation[];
      readonly pagination?: { readonly cursor?: string };
    }>("GET", `/projects/${sampleProject}/operations?limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    found.push(...answer.operations);
    cursor = answer.pagination?.cursor ?? "";
    if (answer.operations.length === 0 || cursor === "") return found;
  }
  throw new Error("the sandbox lists operations without end");
}

const isEnded = ({ status }: Operation) => !["running", "scheduling"].includes(status);

/** Returns the number of operations in flight. */
export async function operationsInFlight(world: World): Promise<number> {
  return (await listOperations(world)).filter((operation) => !isEnded(operation)).length;
}

/**
 * Stops the sandbox's clock while no operation is in flight, and waits until the operator has stored every operation
 * that has ended. Without this an operation that ends by itself, such as a suspend after idle time, may end between two
 * operators. Then the next operator counts it, and no test can say which of them should have.
 */
export async function standStill(world: World): Promise<void> {
  await waitUntil(
    async () => {
      await stopClock(world);
      if ((await operationsInFlight(world)) === 0) return true;
      await startClock(world);
      return undefined;
    },
    { what: "no operation is in flight" },
  );
  let unseen: readonly string[] = [];
  await waitUntil(
    async () => {
      unseen = await unseenOperations(world);
      return unseen.length === 0 ? true : undefined;
    },
    { what: "status shows the newest operation of each sample", lastSeen: () => unseen },
  );
}

/** Stops the time of the sandbox, so that no operation ends. */
export async function stopClock({ sandbox }: World): Promise<void> {
  await sandbox.control("PUT", "/clock", { mode: "stepped" });
}

/** Lets the time of the sandbox pass again. */
export async function startClock({ sandbox }: World): Promise<void> {
  await sandbox.control("PUT", "/clock", { mode: "real" });
}

/** Returns the newest operation of each sample that its status does not show as ended. */
async function unseenOperations(world: World): Promise<readonly string[]> {
  const operations = await listOperations(world);
  const { items } = await world.kubectl.getJson<{ items: readonly Sample[] }>(["-n", "shop", "get", "cpe"]);
  return items.flatMap(({ status }) => {
    const newest = operations.find(({ endpoint_id }) => endpoint_id === status?.ownership?.endpointId);
    const shown = status?.operations?.find(({ id }) => id === newest?.id);
    return newest === undefined || shown?.status === newest.status ? [] : [newest.id];
  });
}

interface Sample {
  readonly status?: {
    readonly ownership?: { readonly endpointId: string };
    readonly operations?: readonly { readonly id: string; readonly status: string }[];
  };
}

/** Counts the operations that have ended on the endpoints of the samples, by the control plane's list. */
export async function endedOperations(world: World, owned: readonly string[]): Promise<Counts> {
  const ended = (await listOperations(world)).filter(
    (operation) => isEnded(operation) && owned.includes(operation.endpoint_id ?? ""),
  );
  return countsOf(ended.map(({ action }) => [action, 1]));
}

/** Returns the sum of what the running replicas have counted, and the number of gaps that they reported. */
export async function countedOperations(world: World): Promise<{ readonly counts: Counts; readonly gaps: number }> {
  const pages = await Promise.all(
    (await operatorPods(world)).map(async ({ status }) => {
      const answer = await fetch(`http://${status.podIP}:8080/metrics`);
      return parsePage(await answer.text());
    }),
  );
  const series = pages.flat();
  const counted = series.filter(({ metric }) => metric === "compute_endpoint_operations_total");
  const gaps = series.filter(({ metric }) => metric === "compute_endpoint_operation_log_gaps_total");
  return {
    counts: countsOf(counted.map(({ labels, value }) => [labels.action ?? "", value])),
    gaps: gaps.reduce((all, { value }) => all + value, 0),
  };
}

/** Returns the counts that were added. Pure. */
export function since(before: Counts, now: Counts): Counts {
  return countsOf([
    ...Object.entries(now),
    ...Object.entries(before).map(([action, count]) => [action, -count] as const),
  ]);
}

/**
 * Waits until the replicas have counted exactly the operations that ended since `before`, each of them once.
 * @throws Error with both counts if they do not become equal in time, or a replica has reported a gap
 */
export async function expectCounted(world: World, owned: readonly string[], before: Counts): Promise<Counts> {
  const look = async () => ({
    wanted: since(before, await endedOperations(world, owned)),
    counted: await countedOperations(world),
  });
  const isEqual = ({ wanted, counted }: Awaited<ReturnType<typeof look>>) =>
    JSON.stringify(wanted) === JSON.stringify(counted.counts);
  await waitUntil(async () => (isEqual(await look()) ? true : undefined), {
    what: "the metrics show what the control plane lists",
  }).catch(() => undefined);
  const { wanted, counted } = await look();
  assert.deepEqual(counted, { counts: wanted, gaps: 0 });
  return wanted;
}

/** Adds up by action. The result is sorted and leaves out actions with the sum 0. Pure. */
function countsOf(entries: readonly (readonly [string, number])[]): Counts {
  const sums = new Map<string, number>();
  for (const [action, count] of entries) sums.set(action, (sums.get(action) ?? 0) + count);
  return Object.fromEntries([...sums].filter(([, count]) => count !== 0).sort(([a], [b]) => (a < b ? -1 : 1)));
}
