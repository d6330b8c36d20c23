import type { OperationWatermark } from "../resource/status-schema.ts";
import { parseMark } from "./watermark.ts";

/** What one resource needs of its project's operation log. */
export interface LogNeed {
  readonly uid: string;
  /** The operation history range still to read begins here; epoch milliseconds of the control plane's clock. */
  readonly sinceMs: number;
  /** Operations created before this have all been counted, unless the control plane's clock stepped back. */
  readonly certainMs: number;
  /** Operations that are counted when they end. */
  readonly unfinishedIds: readonly string[];
}

/** A later list may add operations to what an earlier list has shown, but not ones that are older than this. */
const listSettleMs = 60_000;

/**
 * Reads off a stored watermark what its resource needs. Leave out a resource whose records are not proven its own: it
 * never counts, and would have the list read back for ever.
 *
 * @returns `undefined`: the resource has no log yet.
 */
export function logNeedOf(uid: string, stored: OperationWatermark | undefined): LogNeed | undefined {
  const mark = parseMark(stored);
  if (mark === undefined) {
    return undefined;
  }
  // A log that has met nothing yet begins at createdMs; its floor only allows for clocks that differ.
  const sinceMs = mark.met.size === 0 ? mark.createdMs : mark.floorMs + 1;
  return {
    uid,
    sinceMs,
    certainMs: Math.max(sinceMs, mark.createdMs - listSettleMs),
    unfinishedIds: mark.unfinishedIds,
  };
}
