/** Compares the operations that the sandbox lists with those that the metrics count. */
import assert from "node:assert/strict";
import { parsePage } from "../support/metrics-page.ts";
import { waitUntil } from "../support/wait-until.ts";
import { operatorPods, sampleProject, type World } from "./world.ts";

/** How many operations have ended, by action. */
export type Counts = Readonly<Record<string, number>>;

interface Operation {
  readonly id: string;
  readonly action: string;
  readonly status: string;
  readonly endpoint_id?: string;
}

/** Every operation of the sample project, as the sandbox lists them. */
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

/** How many operations are in flight. */
export async function operationsInFlight(world: World): Promise<number> {
  return (await listOperations(world)).filter((operation) => !isEnded(operation)).length;
}

/** What the control plane says has ended on the endpoints of the samples. */
export async function endedOperations(world: World, owned: readonly string[]): Promise<Counts> {
  const ended = (await listOperations(world)).filter(
    (operation) => isEnded(operation) && owned.includes(operation.endpoint_id ?? ""),
  );
  return countsOf(ended.map(({ action }) => [action, 1]));
}

/** What the replicas that run now have counted together, and the gaps that they met. */
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

/** What has been added. Pure. */
export function since(before: Counts, now: Counts): Counts {
  return countsOf([
    ...Object.entries(now),
    ...Object.entries(before).map(([action, count]) => [action, -count] as const),
  ]);
}

/**
 * Waits until the replicas have counted exactly what has ended since `before`: each operation once, and none left out.
 *
 * @throws Error with both counts when they do not become equal in time, or a replica has met a gap
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
    timeoutMs: 20_000,
  }).catch(() => undefined);
  const { wanted, counted } = await look();
  assert.deepEqual(counted, { counts: wanted, gaps: 0 });
  return wanted;
}

/** Adds up by action, sorted, without actions that add up to nothing. Pure. */
function countsOf(entries: readonly (readonly [string, number])[]): Counts {
  const sums = new Map<string, number>();
  for (const [action, count] of entries) sums.set(action, (sums.get(action) ?? 0) + count);
  return Object.fromEntries([...sums].filter(([, count]) => count !== 0).sort(([a], [b]) => (a < b ? -1 : 1)));
}
