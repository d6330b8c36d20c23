import type { ControlPlane } from "../domain/control-plane.ts";
import type { Operation } from "../domain/operation.ts";

/** The control plane's calls that reading the operation log needs. */
export type OperationSource = Pick<ControlPlane, "listOperations" | "getOperation">;

/** How far a run over the list went. */
export type RunEnd =
  /** To the last operation there is. */
  | "Exhausted"
  /** To an operation of the run before: together they go back as far as that one. */
  | "Linked"
  /** As far as a resource needs. */
  | "Sufficient"
  /** The bound of pages came first. */
  | "CutShort";

/** What one run over the list showed. */
export interface Run {
  /** In the order of the list: newest first by the control plane's clock. */
  readonly operations: readonly Operation[];
  /** Ids of entries that cannot be read; "" for an entry without a readable id. */
  readonly unreadableIds: readonly string[];
  readonly end: RunEnd;
}

/** Bounds of one run. */
export interface RunBounds {
  readonly pageSize: number;
  /** Each further page asks for four times as many operations as the one before, up to this. */
  readonly deepPageSize: number;
  readonly maxPages: number;
}

/**
 * Lists a project's operations, newest first, page by page.
 *
 * @param endAt is called with the oldest operation of each page; a result ends the run.
 * @throws ControlPlaneError when a page cannot be read. Nothing of the run is used then: half a list
 * would look like a list that reaches what was known before.
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

/** Epoch milliseconds of the control plane's clock; -Infinity: no operation, or its time cannot be read. */
export function createdMsOf(operation: Operation | undefined): number {
  const createdMs = Date.parse(operation?.createdTime ?? "");
  return Number.isFinite(createdMs) ? createdMs : Number.NEGATIVE_INFINITY;
}
