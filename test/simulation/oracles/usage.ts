/** Compares the usage that the operator counts with what the control plane counts. */
import type { Metric } from "prom-client";
import type { StoredObject } from "../kubernetes/answers.ts";
import { isObject, type JsonObject } from "../kubernetes/merge-patch.ts";
import type { OperatorParts } from "../ports.ts";
import { specOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import { everlasting } from "../time/virtual-time.ts";
import type { Oracle } from "./oracle.ts";

const everyMs = 10_000;

const unknownMs = 60_000;

/** While nothing fails, each project is read within two minutes. The read proves what happened a minute before it. */
const lateMs = 3 * unknownMs;

const metrics = ["active_seconds", "unit_seconds", "starts"].map((of) => `compute_endpoint_${of}_total`);

/** Both bounds contain the true unit-seconds. No series falls, also not when another process takes over. */
export function usage(world: World): Oracle {
  const scrapes: (Omit<Scraped, "series"> & { readonly series: Promise<Scraped["series"]> })[] = [];
  const truths: ReadonlyMap<string, Truth>[] = [];
  let faults = "";
  const scrape = () => {
    const { history, faults: source, cut } = world;
    const known = `${source.hit.size} ${history.deaths} ${cut.size}`;
    if (known !== faults) truths.length = 0;
    faults = known;
    const truth = truthOf(world);
    truths.push(truth);
    const proven = truths.at(-1 - lateMs / everyMs);
    for (const { process, parts } of world.replicas) {
      if (process?.isDead === false && parts !== undefined) {
        const series = Promise.all(metrics.map((metric) => seriesOf(parts.metrics, metric)));
        scrapes.push({ by: process.identity, truth, proven, series: series.then((each) => each.flat()) });
      }
    }
    world.time.after(everyMs, everlasting, scrape);
  };
  world.time.after(everyMs, everlasting, scrape);
  return {
    async atEnd() {
      const largest = new Map<string, number>();
      for (const { series, ...scraped } of scrapes) judgeSeries(world, largest, { ...scraped, series: await series });
      for (const resource of world.resources()) judgeStatus(world, resource);
    },
  };
}

interface Truth {
  readonly activeSeconds: number;
  readonly unitSeconds: number;
}

/** A time in the records has whole milliseconds. */
const tolerance = 0.01;

function truthOf(world: World): ReadonlyMap<string, Truth> {
  return new Map(world.resources().map((resource) => [resource.metadata.name, truthOfOne(world, resource)]));
}

function truthOfOne({ controlPlane }: World, resource: StoredObject): Truth {
  const { projectId, branchId } = specOf(resource);
  const { activeMs, unitMs } = controlPlane.usageOf(String(projectId), String(branchId));
  return { activeSeconds: activeMs / 1_000, unitSeconds: unitMs / 1_000 };
}

interface Scraped {
  /** The process. */
  readonly by: string;
  readonly truth: ReadonlyMap<string, Truth>;
  /** What the process must have counted; `undefined`: something has failed shortly before. */
  readonly proven: ReadonlyMap<string, Truth> | undefined;
  readonly series: readonly Series[];
}

interface Series {
  readonly metric: string;
  readonly name: string;
  readonly bound: string;
  readonly value: number;
}

/** Only these metrics, because the text of all of them would take a fifth of the run. */
async function seriesOf({ registry }: OperatorParts["metrics"], metric: string): Promise<readonly Series[]> {
  const { values } = await (registry.getSingleMetric(metric) as Metric).get();
  return values.map(({ labels: { name, bound = "" }, value }) => ({
    metric,
    name: String(name),
    bound: String(bound),
    value,
  }));
}

/** @param largest the largest values so far, by series, and by series and process */
function judgeSeries(world: World, largest: Map<string, number>, { by, truth, proven, series }: Scraped): void {
  for (const { metric, name, bound, value } of series) {
    const id = `${metric} ${bound} of ${name}`;
    // A process that has lost the Lease may show its last values for a while.
    const before = largest.get(`${id} ${by}`) ?? largest.get(id) ?? 0;
    if (value < before - tolerance) world.violate("Usage", `${id} falls from ${before} to ${value}`);
    largest.set(`${id} ${by}`, value);
    largest.set(id, Math.max(largest.get(id) ?? 0, value));
    const known = { min: truth, max: proven }[bound]?.get(name)?.unitSeconds ?? value;
    if (bound === "min" ? value > known + tolerance : value < known - tolerance)
      world.violate("Usage", `${id} is ${value}, and the control plane counts ${known}`);
  }
}

/** What happened within the last minute may be unknown: a suspend for the lower bound, a start for the upper one. */
function judgeStatus(world: World, resource: StoredObject): void {
  const used = isObject(resource.status) ? resource.status.usage : undefined;
  const sizes = isObject(resource.status) ? resource.status.compute : undefined;
  if (!isObject(used) || !isObject(sizes)) return;
  const { unitSeconds } = truthOfOne(world, resource);
  const [min, max] = [totalOf(world, used, "min", sizes), totalOf(world, used, "max", sizes)];
  if (min > unitSeconds + tolerance || max < unitSeconds - tolerance)
    world.violate(
      "Usage",
      `${resource.metadata.name} used ${unitSeconds} unit-seconds, and the bounds are ${min} and ${max}`,
    );
}

function totalOf(world: World, used: JsonObject, bound: "min" | "max", sizes: JsonObject): number {
  const untilMs = world.controlPlane.engineNowMs() - (bound === "min" ? unknownMs : 0);
  const runMs = Math.max(0, untilMs - Date.parse(String(used.asOfTime)));
  const sinceMs = used.isActive === true ? runMs : bound === "max" ? Math.min(unknownMs, runMs) : 0;
  return Number(used[`${bound}UnitSeconds`]) + (sinceMs / 1_000) * Number(sizes[`${bound}Units`]);
}
