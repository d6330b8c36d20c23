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
export const knownFailures: readonly KnownFailure[] = [];

/** Whether a violation is of a known failure. */
export function isKnown({ promise, text }: Violation, plan: RunPlan): boolean {
  return knownFailures.some(
    ({ promises, words, isPossibleIn = () => true }) =>
      promises.includes(promise) && text.includes(words) && isPossibleIn(plan),
  );
}
