/** Lists the operations of a project page by page. */
import type { ControlPlane } from "../domain/control-plane.ts";
import type { Operation } from "../domain/operation.ts";

/** The control plane's calls that reading the operation log needs. */
export type OperationSource = Pick<ControlPlane, "listOperations" | "getOperation">;

/** Why a run over the list ended. */
export type RunEnd =
  /** The run has reached the last operation of the list. */
  | "Exhausted"
  /** The run has reached an operation of the previous run, so both runs together have no gap. */
  | "Linked"
  /** The run has gone back as far as a resource needs. */
  | "Sufficient"
  /** The run has read the maximum number of pages. */
  | "CutShort";

/** The result of one run over the list. */
export interface Run {
  /** The operations in the order of the list: newest first by the control plane's clock. */
  readonly operations: readonly Operation[];
  /** Ids of entries that cannot be parsed; "" if the id could not be read either. */
  readonly unreadableIds: readonly string[];
  readonly end: RunEnd;
}

/** The limits of one run. */
export interface RunBounds {
  readonly pageSize: number;
  /**
   * The maximum number of operations on a page. Each further page asks for four times as many operations as the page
   * before.
   */
  readonly deepPageSize: number;
  readonly maxPages: number;
}

/**
 * Lists a project's operations page by page, newest first.
 *
 * @param endAt is called with the oldest operation of each page. If it returns a value, the run ends.
 * @throws ControlPlaneError when a page cannot be read. Then nothing of the run is used, because half a list would
 *   look complete.
 */
export async function listBack(
  source: OperationSource,
  projectId: string,
  { pageSize, deepPageSize, maxPages }: RunBounds,
  endAt: (oldest: Operation) => RunEnd | undefined,
): Promise<Run> {
  const operations: Operation[] = [];
  const unreadableIds: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const limit = Math.min(pageSize * 4 ** page, deepPageSize);
    const answer = await source.listOperations(projectId, { limit, ...(cursor === undefined ? {} : { cursor }) });
    operations.push(...answer.operations);
    unreadableIds.push(...answer.unreadableIds);
    const isEmpty = answer.operations.length === 0 && answer.unreadableIds.length === 0;
    if (isEmpty || answer.cursor === undefined || answer.cursor === cursor) {
      return { operations, unreadableIds, end: "Exhausted" };
    }
    const oldest = answer.operations.at(-1);
    const end = oldest && endAt(oldest);
    if (end !== undefined) {
      return { operations, unreadableIds, end };
    }
    cursor = answer.cursor;
  }
  return { operations, unreadableIds, end: "CutShort" };
}

/**
 * Returns when an operation was created, in epoch milliseconds of the control plane's clock. -Infinity: there is no
 * operation, or its time cannot be parsed.
 */
export function createdMsOf(operation: Operation | undefined): number {
  const createdMs = Date.parse(operation?.createdTime ?? "");
  return Number.isFinite(createdMs) ? createdMs : Number.NEGATIVE_INFINITY;
}
