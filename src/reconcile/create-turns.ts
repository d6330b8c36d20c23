import type { ResourceKey } from "../domain/resource-store.ts";
import type { CreateIntent } from "../resource/status-schema.ts";

/** Where a create puts its endpoint. */
export type CreatePlace = Pick<CreateIntent, "projectId" | "branchId" | "type">;

interface Turn {
  readonly uid: string;
  readonly key: ResourceKey;
  readonly waiting: Map<string, ResourceKey>;
}

/**
 * One unresolved create per project, branch and type in this process: two at once could not tell their endpoints apart
 * where the service does not echo names.
 */
export class CreateTurns {
  readonly #wake: (key: ResourceKey) => void;
  readonly #turns = new Map<string, Turn>();

  constructor(wake: (key: ResourceKey) => void) {
    this.#wake = wake;
  }

  /** Takes the turn if it is free or already this uid's; else the key is woken when it becomes free. */
  tryTake(place: CreatePlace, uid: string, key: ResourceKey): boolean {
    const id = idOf(place);
    const turn = this.#turns.get(id);
    if (turn === undefined) {
      this.#turns.set(id, { uid, key, waiting: new Map() });
      return true;
    }
    if (turn.uid !== uid) {
      turn.waiting.set(uid, key);
    }
    return turn.uid === uid;
  }

  /** Gives back the turns of resources that had this key and are gone; `liveUid` is who has it now. */
  releaseGone(key: ResourceKey, liveUid: string | undefined): void {
    for (const turn of [...this.#turns.values()]) {
      const isSameKey = turn.key.namespace === key.namespace && turn.key.name === key.name;
      if (isSameKey && turn.uid !== liveUid) {
        this.release(turn.uid);
      }
    }
  }

  /** Gives back whatever turn the uid holds. */
  release(uid: string): void {
    for (const [id, turn] of this.#turns) {
      // Whoever waits goes on waiting: a key that is woken in vain does no harm, one that is not woken does.
      if (turn.uid === uid) {
        this.#turns.delete(id);
        for (const key of turn.waiting.values()) {
          this.#wake(key);
        }
      }
    }
  }
}

function idOf({ projectId, branchId, type }: CreatePlace): string {
  return `${projectId}/${branchId}/${type}`;
}
