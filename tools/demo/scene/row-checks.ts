/** Checks the rows that kubectl has shown. */
import type { Row } from "./watch-rows.ts";

/** The statuses of an operation that has not ended. */
const inFlight: readonly (string | undefined)[] = ["scheduling", "running"];

/** Whether a row showed an operation of this action before the operation ended. */
export function wasInFlight(rows: readonly Row[], name: string, action: string): boolean {
  return rows.some((row) => row.NAME === name && row.OPERATION === action && inFlight.includes(row.STATUS));
}

/** Whether the resource is Ready, and rows showed each of these actions in progress before. */
export function isSettled(rows: readonly Row[], name: string, ...actions: readonly string[]): boolean {
  const last = rows.findLast((row) => row.NAME === name);
  const hasSeenAll = actions.every((action) => wasInFlight(rows, name, action));
  return hasSeenAll && last?.READY === "True" && !inFlight.includes(last.STATUS);
}
