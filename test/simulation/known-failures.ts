/** The defects that the simulation has found and that are not corrected yet. */
import type { RunPlan } from "./run/run.ts";
import type { Promised, Violation } from "./run/violation.ts";

/** A defect that the simulation has found and that is not corrected yet. */
export interface KnownFailure {
  readonly promises: readonly Promised[];
  /** A part of the text with which an oracle reports it. */
  readonly words: string;
  /** Its named cases. @default none */
  readonly cases?: readonly string[];
  /** Whether the failure can occur in a run. @default in every run */
  readonly isPossibleIn?: (plan: RunPlan) => boolean;
}

/**
 * The failures that are not corrected yet. The named case of each must fail; if it passes, the failure must leave this
 * list.
 */
export const knownFailures: readonly KnownFailure[] = [];

/** Whether a violation comes from a known failure. */
export function isKnown({ promise, text }: Violation, plan: RunPlan): boolean {
  return knownFailures.some(
    ({ promises, words, isPossibleIn = () => true }) =>
      promises.includes(promise) && text.includes(words) && isPossibleIn(plan),
  );
}
