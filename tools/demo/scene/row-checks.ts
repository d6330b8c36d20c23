import type { Row } from "./watch-rows.ts";

/** What the service says of an operation that has not ended. */
const inFlight: readonly (string | undefined)[] = ["scheduling", "running"];

/** Whether an operation of this action was seen before it ended. */
export function wasInFlight(rows: readonly Row[], name: string, action: string): boolean {
  return rows.some((row) => row.NAME === name && row.OPERATION === action && inFlight.includes(row.STATUS));
}

/** Whether the resource is Ready after it was seen in the middle of each of these actions. */
export function isSettled(rows: readonly Row[], name: string, ...actions: readonly string[]): boolean {
  const last = rows.findLast((row) => row.NAME === name);
  const hasSeenAll = actions.every((action) => wasInFlight(rows, name, action));
  return hasSeenAll && last?.READY === "True" && !inFlight.includes(last.STATUS);
}
