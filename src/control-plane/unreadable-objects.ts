import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";

type Kind = "branches" | "endpoints" | "operations";

/** Receives the ids of listed objects that cannot be parsed. For operations, only those of the newest page. */
export type ListReport = (projectId: string, kind: Kind, unreadableIds: readonly string[]) => void;

/** A project that was not listed for this many milliseconds is not counted, because most likely no resource names it. */
const forgottenAfterMs = 3_600_000;

const maxLoggedIds = 20;

export class UnreadableObjects {
  readonly #clock: Clock;
  readonly #logger: Pick<Logger, "warn">;
  readonly #lists = new Map<string, { readonly ids: readonly string[]; readonly seenMs: number }>();

  constructor(options: { readonly clock: Clock; readonly logger: Pick<Logger, "warn"> }) {
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  readonly note: ListReport = (projectId, kind, ids) => {
    const key = `${kind} ${projectId}`;
    const known = new Set(this.#lists.get(key)?.ids);
    const added = ids.filter((id) => !known.has(id));
    if (added.length > 0) {
      this.#logger.warn(
        { projectId, kind, unreadable: ids.length, ids: added.slice(0, maxLoggedIds) },
        "the operator cannot parse some objects that the control plane lists; it uses only their ids",
      );
    }
    if (ids.length > 0) {
      this.#lists.set(key, { ids, seenMs: this.#clock.monotonicMs() });
    } else {
      this.#lists.delete(key);
    }
  };

  count(): number {
    for (const [key, { seenMs }] of this.#lists) {
      if (this.#clock.monotonicMs() - seenMs > forgottenAfterMs) {
        this.#lists.delete(key);
      }
    }
    return [...this.#lists.values()].reduce((sum, { ids }) => sum + ids.length, 0);
  }
}
