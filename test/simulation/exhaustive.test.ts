/** Runs every workload with every single fault at every effect. */
import { expect, test } from "vitest";
import { runInThreads } from "../../tools/simulate/pool.ts";
import { faultUnits } from "./workloads/fault-plans.ts";
import { workloads } from "./workloads/single-workloads.ts";
import { chains, transitionCount } from "./workloads/transitions.ts";

test("every effect of every workload, every single fault, both profiles → the end of the run without fault", async () => {
  const broken: string[] = [];
  let plans = 0;
  await runInThreads({ task: "Faults", from: 0, count: faultUnits.length }, ({ problems, count }) => {
    broken.push(...problems);
    plans += count;
  });
  expect(broken).toEqual([]);
  expect(workloads.length).toBeGreaterThanOrEqual(25);
  expect(plans).toBeGreaterThanOrEqual(2_600);
});

test("every transition of spec → where a fresh create comes to", async () => {
  const broken: string[] = [];
  await runInThreads({ task: "Chains", from: 0, count: chains.length }, ({ problems }) => {
    broken.push(...problems);
  });
  expect(broken).toEqual([]);
  expect(transitionCount).toBeGreaterThanOrEqual(1_100);
});
