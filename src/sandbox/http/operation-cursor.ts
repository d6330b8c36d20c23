import type { OperationPosition } from "../storage/store.ts";

/**
 * Writes a position as a timestamp with fractional seconds: three digits of milliseconds, then the sequence number that
 * tells siblings apart. Holds only characters that a query may carry unescaped.
 */
export function cursorOf({ createdMs, sequence }: OperationPosition): string {
  return new Date(createdMs).toISOString().replace("Z", `${String(sequence).padStart(9, "0")}Z`);
}

/** What every cursor looks like; not everything that looks like it is one. */
export const cursorPattern =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3})(\d{0,15})Z$/;

/** @returns `undefined` for anything that is not such a timestamp. */
export function parseCursor(cursor: string): OperationPosition | undefined {
  const match = cursorPattern.exec(cursor);
  const createdMs = match === null ? Number.NaN : Date.parse(`${match[1]}Z`);
  return Number.isNaN(createdMs) ? undefined : { createdMs, sequence: Number(match?.[2] ?? 0) };
}
