import type { Plan } from "./records.ts";
import { Refusal } from "./refusal.ts";

/** Branches of one project. @see docs/sandbox.md "Limits" */
export const branchLimits: Readonly<Record<Plan, number>> = { free: 10, paid: 5000 };

/** Roles of one branch, and likewise databases. */
export const objectsPerBranch = 500;

/** Projects of the account. */
export const projectLimit = 1000;

/** What tests ask for and what nobody takes away again, each: faults, planned failures, API keys. */
export const controlLimit = 1000;

/**
 * Refuses one more than there may be.
 *
 * @param what the plural in capitals, such as `BRANCHES`.
 * @throws Refusal NotAllowed
 */
export function requireRoom(present: number, limit: number, what: string): void {
  if (present < limit) return;
  throw new Refusal(
    "NotAllowed",
    `at most ${limit} ${what.toLowerCase().replaceAll("_", " ")} are allowed`,
    `${what}_LIMIT_EXCEEDED`,
  );
}
