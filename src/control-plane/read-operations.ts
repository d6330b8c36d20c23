import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { isInFlight, type Operation } from "../domain/operation.ts";
import type { OperationLogGap, OperationMemory, RunEnd } from "./operation-memory.ts";

/** Bounds of one reading. */
export interface ReadOperationsOptions {
  readonly controlPlane: Pick<ControlPlane, "listOperations" | "getOperation">;
  readonly clock: Clock;
  readonly pageSize: number;
  readonly deepPageSize: number;
  readonly maxPages: number;
  /** Operations asked for by id. */
  readonly maxPolls: number;
  /** From when on somebody needs all operations; epoch milliseconds of the service's clock. */
  readonly neededMs: number | undefined;
}

/**
 * Brings the memory of a project's operations up to date.
 *
 * The list is read newest first, back to the first page that holds an operation which an earlier reading has listed:
 * what is older is known then, as far back as readings have gone. A first reading, and one that has to go back further
 * than those before it, goes on to the first page that holds an operation older than `neededMs`; where nobody needs
 * anything a first reading takes one page, and further ones only while the oldest operation on it is unfinished.
 * Unfinished operations that the pages do not show are asked for by id, as are operations of our own which a lagging
 * list does not show yet.
 *
 * @returns what was needed and lies beyond `maxPages`: it is not asked for again.
 */
export async function readOperations(
  projectId: string,
  memory: OperationMemory,
  options: ReadOperationsOptions,
): Promise<OperationLogGap | undefined> {
  const run = await listBack(projectId, memory, options);
  const gap = memory.addListed(run.operations, run.end, options.neededMs);
  const seenIds = new Set(run.operations.map((operation) => operation.id));
  await pollUnseen(projectId, memory, { ...options, seenIds });
  return gap;
}

interface Run {
  readonly operations: readonly Operation[];
  readonly end: RunEnd;
}

async function listBack(projectId: string, memory: OperationMemory, options: ReadOperationsOptions): Promise<Run> {
  const { controlPlane, pageSize, deepPageSize, maxPages, neededMs } = options;
  // Kept aside until the run is complete: a half-read list would pass for a link to what was known before.
  const operations: Operation[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const limit = page === 0 ? pageSize : deepPageSize;
    const answer = await controlPlane.listOperations(projectId, { limit, ...(cursor === undefined ? {} : { cursor }) });
    operations.push(...answer.operations);
    const oldest = answer.operations.at(-1);
    if (oldest === undefined || answer.cursor === undefined || answer.cursor === cursor) {
      return { operations, end: "Exhausted" };
    }
    if (memory.reaches(neededMs) && answer.operations.some(({ id }) => memory.wasListed(id))) {
      return { operations, end: "Linked" };
    }
    if (isSufficient(oldest, memory, neededMs)) {
      return { operations, end: "Sufficient" };
    }
    cursor = answer.cursor;
  }
  return { operations, end: "CutShort" };
}

function isSufficient(oldest: Operation, memory: OperationMemory, neededMs: number | undefined): boolean {
  return neededMs === undefined
    ? !memory.hasListed && !isInFlight(oldest)
    : Date.parse(oldest.createdTime) < memory.wantedMs(neededMs);
}

async function pollUnseen(
  projectId: string,
  memory: OperationMemory,
  options: ReadOperationsOptions & { readonly seenIds: ReadonlySet<string> },
): Promise<void> {
  const ids = memory.takeUnseen(options.seenIds, options.maxPolls);
  await Promise.all(
    ids.map(async (id) => {
      const answer = await readById(options.controlPlane, projectId, id);
      if (answer === "Unreadable") {
        return;
      }
      const { operation } = answer;
      if (operation === undefined) {
        memory.addMissing(id, options.clock.monotonicMs());
      } else {
        memory.add(operation);
      }
    }),
  );
}

/** One operation that the control plane cannot show must not block the other resources of its project. */
async function readById(
  controlPlane: Pick<ControlPlane, "getOperation">,
  projectId: string,
  id: string,
): Promise<{ readonly operation: Operation | undefined } | "Unreadable"> {
  try {
    return { operation: await controlPlane.getOperation(projectId, id) };
  } catch (error) {
    if (error instanceof ControlPlaneError && ["ServerError", "UnreadableAnswer", "Rejected"].includes(error.reason)) {
      return "Unreadable";
    }
    throw error;
  }
}
