/** Computes how far back the operation log must be read for one resource. */
import type { OperationWatermark } from "../resource/status-schema.ts";
import { parseMark } from "./watermark.ts";

/** Which part of its project's operation log one resource needs. */
export interface LogNeed {
  readonly uid: string;
  /** The start of the operation history range to read, in epoch milliseconds of the control plane's clock. */
  readonly sinceMs: number;
  /** All operations created before this time have been counted, unless the control plane's clock stepped back. */
  readonly certainMs: number;
  /** Ids of unfinished operations. They are counted when they end. */
  readonly unfinishedIds: readonly string[];
}

/**
 * A later list may show additional operations that are at most this many milliseconds older than the newest one of an
 * earlier list.
 */
const listSettleMs = 60_000;

/**
 * Returns which part of the log a resource needs, by its stored watermark. Do not call it for a resource whose
 * records are not proven its own. Such a resource never counts, so the log would be read back again and again.
 * @returns `undefined`: the resource has no log yet.
 */
export function logNeedOf(uid: string, stored: OperationWatermark | undefined): LogNeed | undefined {
  const mark = parseMark(stored);
  if (mark === undefined) {
    return undefined;
  }
  // A log without any operation begins at createdMs. Its floor is earlier only because clocks may differ.
  const sinceMs = mark.met.size === 0 ? mark.createdMs : mark.floorMs + 1;
  return {
    uid,
    sinceMs,
    certainMs: Math.max(sinceMs, mark.createdMs - listSettleMs),
    unfinishedIds: mark.unfinishedIds,
  };
}
