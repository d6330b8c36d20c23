import type { RunPlan } from "./run/run.ts";
import type { Promised, Violation } from "./run/violation.ts";

/** A defect that the simulation has found and that is not mended yet. */
export interface KnownFailure {
  /** Its number in the list of defects. */
  readonly id: number;
  readonly promises: readonly Promised[];
  /** A part of the words in which an oracle reports it. */
  readonly words: string;
  /** Its named cases. @default none */
  readonly cases?: readonly string[];
  /** In which runs it can show. @default in every run */
  readonly isPossibleIn?: (plan: RunPlan) => boolean;
}

/** What is still broken. Its named case must fail while it stands here; a case that passes must not stand here. */
export const knownFailures: readonly KnownFailure[] = [
  { id: 1, promises: ["L1", "L2"], words: "Creating: The open create is closed" },
  { id: 1, promises: ["L1"], words: "Another create on this branch is not resolved yet" },
  { id: 5, promises: ["Counting"], words: "ended", isPossibleIn: hasClockFault },
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
