import type { Clock } from "../domain/clock.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import type { CreateTurn } from "../plan/observation.ts";
import type { CreateIntent } from "../resource/status-schema.ts";

/** Where a create puts its endpoint. */
export type CreatePlace = Pick<CreateIntent, "projectId" | "branchId" | "type">;

interface Turn {
  readonly uid: string;
  readonly key: ResourceKey;
  readonly sinceMs: number;
  readonly waiting: Map<string, ResourceKey>;
}

/** What the turns need. */
export interface CreateTurnsOptions {
  readonly clock: Clock;
  /** Looks at a key again: its turn may have come. */
  readonly wake: (key: ResourceKey) => void;
}

/**
 * One unresolved create per project, branch and type in this process: two at once could not tell their endpoints apart
 * where the service does not echo names.
 */
export class CreateTurns {
  readonly #options: CreateTurnsOptions;
  readonly #turns = new Map<string, Turn>();
  /** Every pass asks for these, so they must not cost a look at every turn. */
  readonly #placesByUid = new Map<string, Set<string>>();
  readonly #uidsByKey = new Map<string, Set<string>>();
  /** By key: since when a uid has waited, over all whose turn came before its own. */
  readonly #waitingSince = new Map<string, { readonly uid: string; readonly ms: number }>();

  constructor(options: CreateTurnsOptions) {
    this.#options = options;
  }

  /** Takes the turn if it is free or already this uid's; else the key is woken when it becomes free. */
  tryTake(place: CreatePlace, uid: string, key: ResourceKey): CreateTurn {
    const nowMs = this.#options.clock.monotonicMs();
    const id = idOf(place);
    const turn = this.#turns.get(id);
    if (turn === undefined) {
      this.#turns.set(id, { uid, key, sinceMs: nowMs, waiting: new Map() });
      add(this.#placesByUid, uid, id);
      add(this.#uidsByKey, keyText(key), uid);
    }
    if (turn === undefined || turn.uid === uid) {
      this.stopWaiting(key);
      return { kind: "Ours" };
    }
    turn.waiting.set(uid, key);
    const known = this.#waitingSince.get(keyText(key));
    const sinceMs = known?.uid === uid ? known.ms : nowMs;
    this.#waitingSince.set(keyText(key), { uid, ms: sinceMs });
    return { kind: "Waiting", waitedMs: nowMs - sinceMs, stillMs: nowMs - Math.max(sinceMs, turn.sinceMs) };
  }

  /** Whoever has this key waits no more, for whatever reason. */
  stopWaiting(key: ResourceKey): void {
    this.#waitingSince.delete(keyText(key));
  }

  /** Gives back the turns of resources that had this key and are gone; `liveUid` is who has it now. */
  releaseGone(key: ResourceKey, liveUid: string | undefined): void {
    if (this.#waitingSince.get(keyText(key))?.uid !== liveUid) {
      this.stopWaiting(key);
    }
    for (const uid of [...(this.#uidsByKey.get(keyText(key)) ?? [])]) {
      if (uid !== liveUid) {
        this.release(uid);
      }
    }
  }

  /** Gives back whatever turn the uid holds. */
  release(uid: string): void {
    for (const id of this.#placesByUid.get(uid) ?? []) {
      const turn = this.#turns.get(id);
      this.#turns.delete(id);
      // Whoever waits goes on waiting: a key that is woken in vain does no harm, one that is not woken does.
      for (const key of turn?.waiting.values() ?? []) {
        this.#options.wake(key);
      }
      if (turn !== undefined) {
        remove(this.#uidsByKey, keyText(turn.key), uid);
      }
    }
    this.#placesByUid.delete(uid);
  }
}

function add(sets: Map<string, Set<string>>, name: string, member: string): void {
  sets.set(name, (sets.get(name) ?? new Set()).add(member));
}

function remove(sets: Map<string, Set<string>>, name: string, member: string): void {
  const members = sets.get(name);
  members?.delete(member);
  if (members?.size === 0) {
    sets.delete(name);
  }
}

function idOf({ projectId, branchId, type }: CreatePlace): string {
  return `${projectId}/${branchId}/${type}`;
}
