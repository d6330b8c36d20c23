import type { RunPlan } from "./run/run.ts";
import type { Promised, Violation } from "./run/violation.ts";

/** A defect that the simulation has found and that is not mended yet. */
export interface KnownFailure {
  /** Its number in the list of defects. */
  readonly id: number;
  readonly promises: readonly Promised[];
  /** A part of the words in which an oracle reports it. */
  readonly words: string;
  /** In which runs it can show. @default in every run */
  readonly isPossibleIn?: (plan: RunPlan) => boolean;
}

/** What is still broken. Its named case must fail while it stands here; a case that passes must not stand here. */
export const knownFailures: readonly KnownFailure[] = [
  { id: 1, promises: ["S2"], words: "a second POST was sent while an earlier one could still take effect" },
  { id: 1, promises: ["S4"], words: "a resource was let go while a POST of it could still take effect" },
  { id: 1, promises: ["S4"], words: "an endpoint lives on that was created for a resource which is gone" },
  { id: 4, promises: ["S5"], words: "a new leader acts before it has listed the resources" },
  { id: 5, promises: ["L1", "L2"], words: "is not at rest", isPossibleIn: hasClockFault },
  { id: 5, promises: ["Counting"], words: "ended", isPossibleIn: hasClockFault },
  { id: 11, promises: ["S4"], words: "a resource was let go while the endpoint", isPossibleIn: hasClockFault },
  { id: 16, promises: ["S8"], words: "endpoint is gone" },
  { id: 16, promises: ["S8"], words: "an endpoint that is gone" },
];

/** Whether a violation is of a known failure. */
export function isKnown({ promise, text }: Violation, plan: RunPlan): boolean {
  return knownFailures.some(
    ({ promises, words, isPossibleIn = () => true }) =>
      promises.includes(promise) && text.includes(words) && isPossibleIn(plan),
  );
}

/** Whether any clock of a run is wrong at any time. */
function hasClockFault({ world, steps }: RunPlan): boolean {
  const { offsetMs, steps: clockSteps, secondMachineMs, wholeSeconds } = world.serviceClock;
  const isServiceWrong = offsetMs !== 0 || clockSteps.length > 0 || secondMachineMs !== 0 || wholeSeconds;
  const isMachineWrong = world.machines.some((clock) => clock.offsetMs !== 0 || clock.rate !== 1);
  const isChanged = steps.some(({ action }) => action.kind === "StepClock" || action.kind === "DisguiseNext");
  return isServiceWrong || isMachineWrong || isChanged;
}
