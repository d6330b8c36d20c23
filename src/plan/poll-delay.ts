import type { Policy } from "./observation.ts";

const shortestPollMs = 250;

/**
 * When to look again at an operation of this age: young ones soon, because most end within a second or two, and older
 * ones no more often than the setting says.
 *
 * @param ageMs by the service's clock against ours; a skew either way only makes the looks rarer.
 */
export function pollDelayMs(ageMs: number, policy: Pick<Policy, "operationPollMs">): number {
  return Math.min(policy.operationPollMs, Math.max(shortestPollMs, Math.abs(ageMs) / 2));
}
