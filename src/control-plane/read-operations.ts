import type { ControlPlane } from "../domain/control-plane.ts";
import { isInFlight, type Operation } from "../domain/operation.ts";
import type { Clock } from "../runtime/clock.ts";
import type { OperationMemory } from "./operation-memory.ts";

/** Bounds of one reading. */
export interface ReadOperationsOptions {
  readonly controlPlane: Pick<ControlPlane, "listOperations" | "getOperation">;
  readonly clock: Clock;
  readonly pageSize: number;
  readonly maxPages: number;
  /** Operations asked for by id. */
  readonly maxPolls: number;
}

/**
 * Brings the memory of a project's operations up to date.
 *
 * The list is read newest first, back to the first page that holds an operation which an earlier reading has listed:
 * what is older is known then. Unfinished operations older than that are asked for by id, as are operations of our own
 * which a lagging list does not show yet. The first reading of a project takes one page, and further ones only while
 * the oldest operation on the page is unfinished.
 *
 * Beyond `maxPages` the list is not followed: older operations that ended meanwhile are then not seen.
 */
export async function readOperations(
  projectId: string,
  memory: OperationMemory,
  options: ReadOperationsOptions,
): Promise<void> {
  // Kept aside until the run is complete: a half-read list would pass for a link to what was known before.
  const listed: Operation[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < options.maxPages; page++) {
    const answer = await options.controlPlane.listOperations(projectId, {
      limit: options.pageSize,
      ...(cursor === undefined ? {} : { cursor }),
    });
    listed.push(...answer.operations);
    if (answer.cursor === undefined || answer.cursor === cursor || reachesKnown(answer.operations, memory)) {
      break;
    }
    cursor = answer.cursor;
  }
  memory.addListed(listed);
  await pollUnseen(projectId, memory, { ...options, seenIds: new Set(listed.map((operation) => operation.id)) });
}

function reachesKnown(page: readonly Operation[], memory: OperationMemory): boolean {
  if (memory.hasListed) {
    return page.some((operation) => memory.wasListed(operation.id));
  }
  const oldest = page.at(-1);
  return oldest === undefined || !isInFlight(oldest);
}

async function pollUnseen(
  projectId: string,
  memory: OperationMemory,
  options: ReadOperationsOptions & { readonly seenIds: ReadonlySet<string> },
): Promise<void> {
  const ids = memory.takeUnseen(options.seenIds, options.maxPolls);
  await Promise.all(
    ids.map(async (id) => {
      const operation = await options.controlPlane.getOperation(projectId, id);
      if (operation === undefined) {
        memory.addMissing(id, options.clock.monotonicMs());
      } else {
        memory.add(operation);
      }
    }),
  );
}
