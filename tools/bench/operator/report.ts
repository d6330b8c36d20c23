/** Writes the results of the benchmark as tables. */
import { quantile } from "../common/load.ts";
import { table } from "../common/table.ts";
import type { BringUp } from "./bring-up.ts";
import type { SizeResult } from "./run.ts";

/** A figure that the documentation promises. */
export interface Target {
  readonly what: string;
  /** The promise as text. */
  readonly promised: string;
  readonly measured: string;
  readonly isMet: boolean;
}

const mebibyte = 2 ** 20;

/** Returns the targets for which the result has a figure. */
export function targetsOf(sizes: readonly SizeResult[]): readonly Target[] {
  return [
    ...sizes.filter(({ resources }) => resources === 1000).map(ratioTarget),
    ...eachTarget("Kubernetes writes", 4, sizes, (run) => run.kubernetesWrites / run.resources),
    ...eachTarget("control-plane calls", 3.5, sizes, callsPerResource),
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
  ];
}

/** Returns the whole result as tables in Markdown. */
export function reportText(sizes: readonly SizeResult[]): string {
  return [bringUpTable(sizes), settledTable(sizes), editTable(sizes), targetTable(targetsOf(sizes))].join("\n\n");
}

function ratioTarget(size: SizeResult): Target {
  return atMost(`time until ${size.resources} are Ready, by the floor's`, timeRatio(size), 1.25);
}

/** Makes one target for each size, from the lowest value of all rounds. */
function eachTarget(
  what: string,
  limit: number,
  sizes: readonly SizeResult[],
  costOf: (run: BringUp) => number,
): readonly Target[] {
  return sizes.map(({ resources, operator }) =>
    atMost(`${what} for each of ${resources}`, leastOf(operator, costOf), limit),
  );
}

function quietTarget(what: string, sizes: readonly SizeResult[], writesOf: (size: SizeResult) => number): Target {
  const value = sizes.reduce((sum, size) => sum + writesOf(size), 0);
  return { what, promised: "0", measured: String(value), isMet: value === 0 };
}

function atMost(what: string, value: number, limit: number): Target {
  // The figure is judged with the digits that the table shows.
  const shown = Number(value.toFixed(2));
  return { what, promised: `at most ${limit}`, measured: shown.toFixed(2), isMet: shown <= limit };
}

function bringUpTable(sizes: readonly SizeResult[]): string {
  const rows = sizes.map((size) => {
    const by = (cost: (run: BringUp) => number) => leastOf(size.operator, cost);
    return [
      `${size.resources} in ${size.projects}`,
      by(({ seconds }) => seconds).toFixed(1),
      leastOf(size.floor, ({ seconds }) => seconds).toFixed(1),
      timeRatio(size).toFixed(2),
      by(({ cpuMs }) => cpuMs / 1000).toFixed(1),
      by(({ peakRssBytes }) => peakRssBytes / mebibyte).toFixed(0),
      by((run) => run.kubernetesWrites / run.resources).toFixed(2),
      by((run) => run.kubernetesEvents / run.resources).toFixed(2),
      by(callsPerResource).toFixed(1),
      by((run) => run.reconciles / run.resources).toFixed(1),
    ];
  });
  const units = ["CPU s", "RSS MiB", "writes each", "events each", "calls each", "reconciles each"];
  return table(["resources in projects", "s to Ready", "floor", "ratio", ...units], rows);
}

function settledTable(sizes: readonly SizeResult[]): string {
  const rows = sizes.map(({ resources, projects, restart, rest }) => [
    `${resources} in ${projects}`,
    (restart.readyMs / 1000).toFixed(1),
    (restart.quietMs / 1000).toFixed(1),
    String(restart.kubernetesWrites + restart.controlPlaneWrites),
    String(rest.reconciles),
    String(rest.kubernetesWrites + rest.kubernetesEvents + rest.controlPlaneWrites),
    rest.controlPlaneReadsPerMinute.toFixed(0),
  ]);
  const atRest = ["reconciles at rest", "writes at rest", "calls a minute"];
  return table(["resources in projects", "restart: s to ready", "s to quiet", "writes", ...atRest], rows);
}

function editTable(sizes: readonly SizeResult[]): string {
  const rows = sizes.flatMap(({ resources, edits }) => [
    row(`edit of one of ${resources}: until the first call`, edits.firstCallMs),
    row(`edit of one of ${resources}: until its change is sent`, edits.changeMs),
  ]);
  return table(["milliseconds", "median", "most"], rows);
}

function row(what: string, values: readonly number[]): readonly string[] {
  return [what, quantile(values, 0.5).toFixed(0), Math.max(...values).toFixed(0)];
}

function targetTable(targets: readonly Target[]): string {
  const rows = targets.map(({ what, promised, measured, isMet }) => [what, promised, measured, isMet ? "yes" : "no"]);
  return table(["target", "promised", "measured", "met"], rows);
}

/** Returns how many times as long as the floor the operator took. */
function timeRatio({ operator, floor }: SizeResult): number {
  return leastOf(operator, ({ seconds }) => seconds) / leastOf(floor, ({ seconds }) => seconds);
}

function callsPerResource({ controlPlaneReads, controlPlaneWrites, resources }: BringUp): number {
  return (controlPlaneReads + controlPlaneWrites) / resources;
}

/** Returns the lowest figure of all rounds, because other work of the machine only makes figures larger. */
function leastOf(runs: readonly BringUp[], figureOf: (run: BringUp) => number): number {
  return Math.min(...runs.map(figureOf));
}
