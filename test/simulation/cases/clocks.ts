/** Named cases in which the control plane's times differ by seconds. */
import { rightControlPlaneClock } from "../control-plane/calendar.ts";
import { ownershipOf } from "../run/stored-records.ts";
import { branch, readOnly, readWrite, size } from "../workloads/specs.ts";
import { apply, type NamedCase, planOf, wasReadyBy } from "./named-case.ts";

const names = Array.from({ length: 10 }, (_, at) => `db-${at}`);

/** Cases in which the clocks of the control plane's machines differ, or its times have whole seconds. */
export const clockCases: readonly NamedCase[] = [
  ...[3_000, -3_000].map(
    (secondMachineMs): NamedCase => ({
      id: `two clocks, ${secondMachineMs}`,
      name: `the second machine of the control plane is ${secondMachineMs} ms ahead → ten resources are Ready within seconds`,
      why: "a finished operation counts as running for half a minute, because the answer before it carries a later time",
      plan: planOf({
        world: {
          controlPlaneClock: { ...rightControlPlaneClock, secondMachineMs },
          operationLatencyMs: { min: 500, max: 1_000 },
        },
        // Each record of the control plane is dated by one of the two machines, so ten creates meet every order of times.
        steps: names.map((name, at) => apply(1_000 + 15_000 * at, name, readOnly(branch(at)))),
      }),
      judge: (world) =>
        names.flatMap((name, at) =>
          wasReadyBy(world, name, 9_000 + 15_000 * at) ? [] : [`L1: ${name} is not Ready within 8 seconds`],
        ),
    }),
  ),
  {
    id: "whole seconds, failed change",
    name: "the control plane's times are in whole seconds, and an apply_config fails and is undone → the change is sent again",
    why: "DriftPersists in place of another try: a person has to act on a failure that was over in a second",
    plan: planOf({
      world: { controlPlaneClock: { ...rightControlPlaneClock, wholeSeconds: true } },
      steps: [
        apply(1_000, "orders", readWrite(branch(1), size(1))),
        { atMs: 30_000, action: { kind: "FailNext", action: "apply_config", isReverted: true } },
        apply(31_000, "orders", readWrite(branch(1), size(2))),
      ],
      quietFromMs: 900_000,
    }),
    judge: (world) => {
      const stored = world.stored("orders");
      const id = stored && ownershipOf(stored)?.endpointId;
      const units = world.endpoints().find((endpoint) => endpoint.id === id)?.minUnits;
      return units === 2 ? [] : [`L1: the size is ${units}, not 2`];
    },
  },
];
