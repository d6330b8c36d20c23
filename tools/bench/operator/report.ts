/** Writes the results of the benchmark as tables. */
import { quantile } from "../common/load.ts";
import { table } from "../common/table.ts";
import type { BringUp } from "./bring-up.ts";
import type { Edits } from "./measures.ts";
import type { BenchResult, SizeResult } from "./run.ts";

/** A figure that the documentation promises. */
export interface Target {
  readonly what: string;
  /** The promise as text. */
  readonly promised: string;
  readonly measured: string;
  readonly isMet: boolean;
}

const mebibyte = 2 ** 20;
const kibibyte = 2 ** 10;

/** Returns the targets for which the result has a figure. */
export function targetsOf(result: BenchResult): readonly Target[] {
  const { sizes } = result;
  const growth = heapGrowthBytes(sizes);
  return [
    ...sizes.filter(({ resources }) => resources === 1000).flatMap(ratioTarget),
    ...eachTarget("Kubernetes writes", 4, sizes, (run) => run.kubernetesWrites / run.resources),
    ...eachTarget("control-plane calls", 3, sizes, callsPerResource),
    quietTarget(
      "writes after a restart",
      sizes,
      ({ restart }) => restart.kubernetesWrites + restart.controlPlaneWrites,
    ),
    quietTarget(
      "writes at rest",
      sizes,
      ({ rest }) => rest.kubernetesWrites + rest.kubernetesEvents + rest.controlPlaneWrites,
    ),
    ...(growth === undefined
      ? []
      : [atMost("heap of a settled resource, KiB", { value: growth / kibibyte, limit: 13, isBelow: true })]),
    ...sizes.flatMap(memoryTarget),
    ...sizes.flatMap(scrapeTarget),
    ...costTargets(result),
  ];
}

/** Returns the whole result as tables in Markdown. */
export function reportText(result: BenchResult): string {
  return [bringUpTable(result), settledTable(result), quickTable(result), targetTable(targetsOf(result))]
    .filter((part) => part !== "")
    .join("\n\n");
}

function ratioTarget(size: SizeResult): readonly Target[] {
  const ratio = timeRatio(size);
  return ratio === undefined
    ? []
    : [atMost(`time until ${size.resources} are Ready, by the floor's`, { value: ratio, limit: 1.25 })];
}

/** Makes the target for the peak memory of the largest size. */
function memoryTarget({ resources, operator }: SizeResult): readonly Target[] {
  if (resources < 5_000 || operator.length === 0) return [];
  const value = Math.max(...operator.map(({ peakRssBytes }) => peakRssBytes)) / mebibyte;
  return [atMost(`peak RSS with ${resources}, MiB`, { value, limit: 256 })];
}

/** Makes one target for each size, from the lowest value of all rounds. */
function eachTarget(
  what: string,
  limit: number,
  sizes: readonly SizeResult[],
  costOf: (run: BringUp) => number,
): readonly Target[] {
  return sizes
    .filter(({ floor }) => floor.length > 0)
    .map(({ resources, operator }) =>
      atMost(`${what} for each of ${resources}`, { value: leastOf(operator, costOf), limit }),
    );
}

function quietTarget(what: string, sizes: readonly SizeResult[], writesOf: (size: SizeResult) => number): Target {
  const value = sizes.reduce((sum, size) => sum + writesOf(size), 0);
  return { what, promised: "0", measured: String(value), isMet: value === 0 };
}

function scrapeTarget({ resources, scrapes }: SizeResult): readonly Target[] {
  if (scrapes.length === 0) return [];
  const value = quantile(
    scrapes.map(({ busyMs }) => busyMs),
    0.5,
  );
  return [atMost(`event loop busy with a scrape of ${resources}, ms`, { value, limit: 250, isBelow: true })];
}

/** Compares the smallest size with the largest. Two equal runs differ by up to a tenth. */
function costTargets({ startCpuMs, sizes }: BenchResult): readonly Target[] {
  const measured = sizes.filter(({ floor }) => floor.length > 0).sort((a, b) => a.resources - b.resources);
  const [least, most] = [measured[0], measured.at(-1)];
  if (least === undefined || most === undefined || least === most) return [];
  const costs: readonly (readonly [string, (run: BringUp) => number])[] = [
    ["processor time", (run) => cpuPerResource(run, startCpuMs)],
    ["Kubernetes writes", (run) => run.kubernetesWrites / run.resources],
    ["control-plane calls", callsPerResource],
  ];
  return costs.map(([name, costOf]) => {
    const value = leastOf(most.operator, costOf) / leastOf(least.operator, costOf);
    const what = `${name} for one of ${most.resources}, by that for one of ${least.resources}`;
    return atMost(what, { value, limit: 1.1 });
  });
}

function atMost(
  what: string,
  { value, limit, isBelow = false }: { readonly value: number; readonly limit: number; readonly isBelow?: boolean },
): Target {
  // The figure is judged with the digits that the table shows.
  const shown = Number(value.toFixed(2));
  return {
    what,
    promised: `${isBelow ? "below" : "at most"} ${limit}`,
    measured: shown.toFixed(2),
    isMet: isBelow ? shown < limit : shown <= limit,
  };
}

function bringUpTable({ sizes, startCpuMs }: BenchResult): string {
  const rows = sizes
    .filter(({ floor }) => floor.length > 0)
    .map((size) => {
      const by = (cost: (run: BringUp) => number) => leastOf(size.operator, cost);
      const floorBy = (cost: (run: BringUp) => number) => leastOf(size.floor, cost);
      return [
        `${size.resources} in ${size.projects}`,
        by(({ seconds }) => seconds).toFixed(1),
        floorBy(({ seconds }) => seconds).toFixed(1),
        (timeRatio(size) ?? 0).toFixed(2),
        by(({ cpuMs }) => cpuMs / 1000).toFixed(1),
        by((run) => cpuPerResource(run, startCpuMs)).toFixed(1),
        by(({ peakRssBytes }) => peakRssBytes / mebibyte).toFixed(0),
        by((run) => run.kubernetesWrites / run.resources).toFixed(2),
        by((run) => run.kubernetesEvents / run.resources).toFixed(2),
        by(callsPerResource).toFixed(1),
        by((run) => run.reconciles / run.resources).toFixed(1),
      ];
    });
  const units = ["CPU s", "CPU ms each", "RSS MiB", "writes each", "events each", "calls each", "reconciles each"];
  return table(["resources in projects", "s to Ready", "floor", "ratio", ...units], rows);
}

function settledTable({ sizes }: BenchResult): string {
  const rows = sizes.map(({ resources, projects, restart, rest, fullHeapBytes }) => [
    `${resources} in ${projects}`,
    (restart.readyMs / 1000).toFixed(1),
    (restart.quietMs / 1000).toFixed(1),
    String(restart.kubernetesWrites + restart.controlPlaneWrites),
    String(rest.reconciles),
    String(rest.kubernetesWrites + rest.kubernetesEvents + rest.controlPlaneWrites),
    rest.controlPlaneReadsPerMinute.toFixed(0),
    fullHeapBytes === undefined ? "" : (fullHeapBytes / mebibyte).toFixed(1),
  ]);
  const atRest = ["reconciles at rest", "writes at rest", "calls a minute", "full heap MiB"];
  return table(["resources in projects", "restart: s to ready", "s to quiet", "writes", ...atRest], rows);
}

function quickTable({ sizes }: BenchResult): string {
  const rows = sizes.flatMap(({ resources, edits, editsWhileScraped, scrapes }) => [
    ...editRows(`edit of one of ${resources}`, edits),
    ...editRows(`the same during a scrape`, editsWhileScraped),
    ...(scrapes.length === 0
      ? []
      : [
          row(
            `scrape of ${resources}: event loop busy`,
            scrapes.map(({ busyMs }) => busyMs),
          ),
          row(
            `scrape of ${resources}: longest in one go`,
            scrapes.map(({ longestMs }) => longestMs),
          ),
        ]),
  ]);
  return rows.length === 0 ? "" : table(["milliseconds", "median", "most"], rows);
}

function editRows(what: string, edits: Edits | undefined): readonly (readonly string[])[] {
  return edits === undefined
    ? []
    : [
        row(`${what}: until the first call`, edits.firstCallMs),
        row(`${what}: until its change is sent`, edits.changeMs),
      ];
}

function row(what: string, values: readonly number[]): readonly string[] {
  return [what, quantile(values, 0.5).toFixed(0), Math.max(...values).toFixed(0)];
}

function targetTable(targets: readonly Target[]): string {
  const rows = targets.map(({ what, promised, measured, isMet }) => [what, promised, measured, isMet ? "yes" : "no"]);
  return table(["target", "promised", "measured", "met"], rows);
}

/** Returns how many times as long as the floor the operator took; `undefined` without a floor. */
function timeRatio({ operator, floor }: SizeResult): number | undefined {
  if (floor.length === 0) return undefined;
  return leastOf(operator, ({ seconds }) => seconds) / leastOf(floor, ({ seconds }) => seconds);
}

/** Returns the bytes that one further resource adds, from the smallest and the largest size whose heap was measured. */
function heapGrowthBytes(sizes: readonly SizeResult[]): number | undefined {
  const measured = sizes.filter(({ fullHeapBytes }) => fullHeapBytes !== undefined);
  const [least, most] = [measured[0], measured.at(-1)];
  if (least === undefined || most === undefined || least.resources === most.resources) return undefined;
  return ((most.fullHeapBytes ?? 0) - (least.fullHeapBytes ?? 0)) / (most.resources - least.resources);
}

function cpuPerResource({ cpuMs, resources }: BringUp, startCpuMs: number): number {
  return (cpuMs - startCpuMs) / resources;
}

function callsPerResource({ controlPlaneReads, controlPlaneWrites, resources }: BringUp): number {
  return (controlPlaneReads + controlPlaneWrites) / resources;
}

/** Returns the lowest figure of all rounds, because other work of the machine only makes figures larger. */
function leastOf(runs: readonly BringUp[], figureOf: (run: BringUp) => number): number {
  return Math.min(...runs.map(figureOf));
}
