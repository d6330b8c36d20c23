import type { Logger } from "../domain/logger.ts";

type Kind = "branches" | "endpoints" | "operations";

/** Receives the ids of listed objects that cannot be parsed. For operations, only those of the newest page. */
export type ListReport = (projectId: string, kind: Kind, unreadableIds: readonly string[]) => void;

const maxLoggedIds = 20;

/** Counts the unreadable objects of one control plane, and logs each new one. @param planeId for the log */
export function countUnreadable(logger: Pick<Logger, "warn">, planeId: string) {
  const lists = new Map<string, readonly string[]>();
  const note: ListReport = (projectId, kind, ids) => {
    const key = `${kind} ${projectId}`;
    const known = new Set(lists.get(key));
    const added = ids.filter((id) => !known.has(id));
    if (added.length > 0) {
      logger.warn(
        { planeId, projectId, kind, unreadable: ids.length, ids: added.slice(0, maxLoggedIds) },
        "the operator cannot parse some objects that the control plane lists; it uses only their ids",
      );
    }
    lists.set(key, ids);
  };
  return { note, count: () => [...lists.values()].flat().length };
}
