import type { Logger } from "../domain/logger.ts";

type Kind = "branches" | "endpoints" | "operations";

/** Receives the ids of listed objects that cannot be parsed. For operations, only those of the newest page. */
export type ListReport = (projectId: string, kind: Kind, unreadableIds: readonly string[]) => void;

const maxLoggedIds = 20;

interface UnreadableOptions {
  readonly logger: Pick<Logger, "warn">;
  /** The control plane, for the log. */
  readonly planeId: string;
}

/** Of one control plane. */
export class UnreadableObjects {
  readonly #options: UnreadableOptions;
  readonly #lists = new Map<string, readonly string[]>();

  constructor(options: UnreadableOptions) {
    this.#options = options;
  }

  readonly note: ListReport = (projectId, kind, ids) => {
    const { logger, planeId } = this.#options;
    const key = `${kind} ${projectId}`;
    const known = new Set(this.#lists.get(key));
    const added = ids.filter((id) => !known.has(id));
    if (added.length > 0) {
      logger.warn(
        { planeId, projectId, kind, unreadable: ids.length, ids: added.slice(0, maxLoggedIds) },
        "the operator cannot parse some objects that the control plane lists; it uses only their ids",
      );
    }
    if (ids.length > 0) {
      this.#lists.set(key, ids);
    } else {
      this.#lists.delete(key);
    }
  };

  count(): number {
    return [...this.#lists.values()].flat().length;
  }
}
