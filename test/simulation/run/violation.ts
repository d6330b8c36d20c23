/** The promises of the operator, and a broken one. */

/** The promises of the operator. @see docs/reliability.md */
export type Promised =
  | "S1"
  | "S2"
  | "S3"
  | "S4"
  | "S5"
  | "S6"
  | "S7"
  | "S8"
  | "S9"
  | "S10"
  | "L1"
  | "L2"
  | "L3"
  | "L4"
  | "L5"
  | "L6"
  | "L7"
  | "L8"
  | "Counting"
  | "Usage"
  | "Conditions"
  | "Disruption";

/** A promise that a run has broken. */
export interface Violation {
  readonly promise: Promised;
  /** True milliseconds. */
  readonly atMs: number;
  /** The broken promise, in plain words. */
  readonly text: string;
}
