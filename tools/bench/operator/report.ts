/** Writes the results of the benchmark as tables. */
import { median, quantile, table } from "../common/figures.ts";
import type { BringUp } from "./bring-up.ts";
import type { SizeResult } from "./measure-size.ts";

/** A figure that the documentation promises. */
export interface Target {
  readonly what: string;
  /** The promise: at most this. */
  readonly limit: number;
  readonly measured: number;
}

type Cost = (run: BringUp) => number;

const seconds: Cost = (run) => run.seconds;
const cpuSeconds: Cost = (run) => run.cpuMs / 1000;
const mebibytes: Cost = (run) => run.peakRssBytes / 2 ** 20;
const writes: Cost = (run) => run.kubernetesWrites / run.resources;
const events: Cost = (run) => run.kubernetesEvents / run.resources;
const calls: Cost = (run) => (run.controlPlaneReads + run.controlPlaneWrites) / run.resources;
const reconciles: Cost = (run) => run.reconciles / run.resources;

const medianOf = (runs: readonly BringUp[], cost: Cost) => median(runs.map(cost));

/** Returns how many times as much as the floor the operator costs, by the medians of all rounds. */
function ratioOf({ operator, floor }: SizeResult, cost: Cost): number {
  return medianOf(operator, cost) / medianOf(floor, cost);
}

/** Returns the targets of one size. Those of time, processor time and memory hold for 1,000 resources. */
export function targetsOf(size: SizeResult): readonly Target[] {
  const { resources, operator, restart, rest, edits } = size;
  const ofLarge = [
    { what: "time by the floor's", limit: 1.25, measured: ratioOf(size, seconds) },
    { what: "processor time by the floor's", limit: 2, measured: ratioOf(size, cpuSeconds) },
    { what: "peak RSS, MiB", limit: 160, measured: medianOf(operator, mebibytes) },
  ];
  return [
    ...(resources === 1_000 ? ofLarge : []),
    { what: "control-plane calls each", limit: 3.5, measured: medianOf(operator, calls) },
    { what: "Kubernetes writes each", limit: 4, measured: medianOf(operator, writes) },
    { what: "writes after a restart", limit: 0, measured: restart.kubernetesWrites + restart.controlPlaneWrites },
    { what: "an edit reaches the control plane, ms: median", limit: 50, measured: median(edits) },
    { what: "an edit reaches the control plane, ms: p99", limit: 50, measured: quantile(edits, 0.99) },
    {
      what: "writes at rest",
      limit: 0,
      measured: rest.kubernetesWrites + rest.kubernetesEvents + rest.controlPlaneWrites,
    },
  ];
}

/** Returns the result of one size as tables in Markdown. */
export function reportText(size: SizeResult): string {
  const name = `${size.resources} in ${size.projects}`;
  const costs: readonly (readonly [string, Cost])[] = [
    ["s to Ready", seconds],
    ["CPU s", cpuSeconds],
    ["RSS MiB", mebibytes],
    ["writes each", writes],
    ["events each", events],
    ["calls each", calls],
    ["reconciles each", reconciles],
  ];
  const rowOf = (subject: "operator" | "floor") => [
    `${name}: ${subject}`,
    ...costs.map(([, cost]) => medianOf(size[subject], cost).toFixed(2)),
  ];
  const targets = targetsOf(size).map(({ what, limit, measured }) => [
    ...[`${name}: ${what}`, `at most ${limit}`, measured.toFixed(2), measured <= limit ? "yes" : "no"],
  ]);
  return [
    table(["medians", ...costs.map(([head]) => head)], [rowOf("operator"), rowOf("floor")]),
    table(["target", "promised", "measured", "met"], targets),
  ].join("\n\n");
}
