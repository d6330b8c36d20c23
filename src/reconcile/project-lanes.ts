import type { Clock } from "../domain/clock.ts";
import { holdsProjectLock, isInFlight } from "../domain/operation.ts";
import type { ProjectReading } from "../domain/project-view.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";

/** A resource that wants to change something in a project. */
export interface Entrant {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly projectId: string;
  readonly isDeletion: boolean;
}

/** Whether a change may start now. */
export type LaneAnswer =
  | { readonly kind: "Granted" }
  | {
      readonly kind: "Queued";
      readonly waitedMs: number;
      /** Milliseconds of the wait since a turn last came to its end. */
      readonly stillMs: number;
      readonly isFirst: boolean;
    };

/** What stands between a resource and its turn. */
export type LaneOutlook =
  /** Nothing: it would be granted the lane. */
  | "Free"
  /** The change before it is under way, and it comes next. */
  | "Next"
  /** Others come before it. */
  | "Behind"
  /** Nobody of ours: the service works, or has said so. */
  | "Locked";

/** What the lanes need. */
export interface ProjectLanesOptions {
  readonly clock: Clock;
  /** Looks at a key again: its turn may have come. */
  readonly wake: (key: ResourceKey) => void;
}

interface Waiting extends Entrant {
  readonly sinceMs: number;
  readonly seenMs: number;
}

interface Holder {
  readonly uid: string;
  /** Its place in the queue, should the service turn it away. */
  readonly place: Waiting;
  operationIds: readonly string[];
  sinceMs: number;
}

interface Lane {
  holder: Holder | undefined;
  /** The service has said that the project is busy, whatever its lists show. */
  closedUntilMs: number;
  /** When a turn last came to its end. */
  movedMs: number;
  readonly waiting: Map<string, Waiting>;
}

/** A waiting resource that has not asked again for so long no longer wants to. */
const forgottenAfterMs = 60_000;

/** An operation that seems never to end must not block deletions: then the service itself is asked, by trying. */
const longestHoldMs = 10 * 60_000;

/**
 * One change in flight per project. The service locks a project while it works, so a second change would only be
 * refused with 423; here it waits its turn instead: first come, first served, deletions first.
 */
export class ProjectLanes {
  readonly #options: ProjectLanesOptions;
  readonly #lanes = new Map<string, Lane>();
  /** Who entered under a key, and where: every pass asks, so it must not cost a look into every lane. */
  readonly #enteredByKey = new Map<string, Map<string, string>>();

  constructor(options: ProjectLanesOptions) {
    this.#options = options;
  }

  /** Asks for the lane. Once granted it is held until `leave`, or `withdraw`. */
  enter(entrant: Entrant, reading: ProjectReading): LaneAnswer {
    const nowMs = this.#options.clock.monotonicMs();
    const lane = this.#withoutStale(this.#lanes.get(entrant.projectId), entrant.uid);
    this.#lanes.set(entrant.projectId, lane);
    this.#noteEntered(entrant);
    // Its place is from when it first asked; what it wants may have become a deletion since.
    const waiting: Waiting = { ...entrant, sinceMs: lane.waiting.get(entrant.uid)?.sinceMs ?? nowMs, seenMs: nowMs };
    lane.waiting.set(entrant.uid, waiting);
    const outlook = this.#outlookIn(lane, entrant.uid, reading);
    if (outlook !== "Free") {
      const stillMs = nowMs - Math.max(waiting.sinceMs, lane.movedMs);
      return { kind: "Queued", waitedMs: nowMs - waiting.sinceMs, stillMs, isFirst: outlook !== "Behind" };
    }
    lane.waiting.delete(entrant.uid);
    const place = lane.holder?.place ?? waiting;
    lane.holder = { uid: entrant.uid, place, operationIds: [], sinceMs: nowMs };
    return { kind: "Granted" };
  }

  /** What `enter` would find right now, without entering. */
  outlook(projectId: string, uid: string, reading: ProjectReading): LaneOutlook {
    return this.#outlookIn(this.#withoutStale(this.#lanes.get(projectId), uid), uid, reading);
  }

  /** The service answered that the project is locked: nobody tries for a while, and the place in the queue is kept. */
  close(projectId: string, uid: string, forMs: number): void {
    const lane = this.#lanes.get(projectId);
    if (lane?.holder?.uid !== uid) {
      return;
    }
    const nowMs = this.#options.clock.monotonicMs();
    lane.closedUntilMs = nowMs + forMs;
    lane.waiting.set(uid, { ...lane.holder.place, seenMs: nowMs });
    lane.holder = undefined;
  }

  /** The change was sent and started these operations; the lane is held until they have ended. */
  leave(projectId: string, uid: string, operationIds: readonly string[]): void {
    const lane = this.#lanes.get(projectId);
    if (lane?.holder?.uid !== uid) {
      return;
    }
    if (operationIds.length > 0) {
      lane.holder = { ...lane.holder, operationIds, sinceMs: this.#options.clock.monotonicMs() };
    } else {
      this.#free(projectId, lane);
    }
  }

  /** The resource wants nothing changed (any more). Operations it has started still hold the lane. */
  withdraw(projectId: string, uid: string): void {
    const lane = this.#lanes.get(projectId);
    if (lane === undefined) {
      return;
    }
    const wasWaiting = lane.waiting.delete(uid);
    const isIdleHolder = lane.holder?.uid === uid && lane.holder.operationIds.length === 0;
    // The first in a free lane was the only one who looked: whoever is first now has to be told.
    if (isIdleHolder || (wasWaiting && lane.holder === undefined)) {
      this.#free(projectId, lane);
    }
  }

  /** The resource is gone. If its operations still hold the lane, somebody else has to look for their end. */
  abandon(projectId: string, uid: string): void {
    this.withdraw(projectId, uid);
    const lane = this.#lanes.get(projectId);
    const next = lane?.holder?.uid === uid ? firstOf(lane) : undefined;
    if (next !== undefined) {
      this.#options.wake(next.key);
    }
  }

  /** Gives up the places of resources that had this key and are gone; `liveUid` is who has it now. */
  abandonGone(key: ResourceKey, liveUid: string | undefined): void {
    const entered = this.#enteredByKey.get(keyText(key));
    for (const [uid, projectId] of entered ?? []) {
      if (uid !== liveUid) {
        this.abandon(projectId, uid);
      }
      if (uid !== liveUid || !this.#hasPlace(projectId, uid)) {
        entered?.delete(uid);
      }
    }
    if (entered?.size === 0) {
      this.#enteredByKey.delete(keyText(key));
    }
  }

  /** A newer reading of the project: operations that hold its lane may have ended. */
  observe(reading: ProjectReading): void {
    const lane = this.#lanes.get(reading.projectId);
    const holder = lane?.holder;
    if (lane === undefined || holder === undefined || holder.operationIds.length === 0) {
      return;
    }
    const hasEnded = holder.operationIds.every((id) => {
      const operation = reading.operations.find((each) => each.id === id);
      return operation === undefined || !isInFlight(operation);
    });
    const isTooLong = this.#options.clock.monotonicMs() - holder.sinceMs > longestHoldMs;
    if ((hasEnded && reading.asOfMs >= holder.sinceMs) || isTooLong) {
      this.#free(reading.projectId, lane);
    }
  }

  #outlookIn(lane: Lane, uid: string, reading: ProjectReading): LaneOutlook {
    const { holder } = lane;
    if (holder?.uid === uid && holder.operationIds.length === 0) {
      return "Free";
    }
    if (!isNext(lane, uid)) {
      return "Behind";
    }
    if (holder !== undefined) {
      return "Next";
    }
    return lane.closedUntilMs <= this.#options.clock.monotonicMs() && !this.#isLocked(reading) ? "Free" : "Locked";
  }

  #noteEntered({ key, uid, projectId }: Entrant): void {
    const entered = this.#enteredByKey.get(keyText(key)) ?? new Map<string, string>();
    this.#enteredByKey.set(keyText(key), entered.set(uid, projectId));
  }

  #hasPlace(projectId: string, uid: string): boolean {
    const lane = this.#lanes.get(projectId);
    return lane !== undefined && (lane.waiting.has(uid) || lane.holder?.uid === uid);
  }

  #free(projectId: string, lane: Lane): void {
    lane.holder = undefined;
    lane.movedMs = this.#options.clock.monotonicMs();
    const next = firstOf(lane);
    if (next === undefined) {
      this.#lanes.delete(projectId);
    } else {
      this.#options.wake(next.key);
    }
  }

  /** Without those who have not asked for long. Whoever asks now is here, however long it was away. */
  #withoutStale(lane: Lane | undefined, askingUid: string): Lane {
    if (lane === undefined) {
      return { holder: undefined, closedUntilMs: 0, movedMs: 0, waiting: new Map() };
    }
    const oldestMs = this.#options.clock.monotonicMs() - forgottenAfterMs;
    const { holder } = lane;
    const isHeld = holder !== undefined && (holder.operationIds.length > 0 || holder.sinceMs >= oldestMs);
    const waiting = [...lane.waiting].filter(([uid, { seenMs }]) => uid === askingUid || seenMs >= oldestMs);
    return { ...lane, holder: isHeld ? holder : undefined, waiting: new Map(waiting) };
  }

  #isLocked(reading: ProjectReading): boolean {
    const nowMs = this.#options.clock.nowMs();
    return reading.operations.some(
      (operation) => holdsProjectLock(operation) && nowMs - Date.parse(operation.createdTime) < longestHoldMs,
    );
  }
}

/** Whether nobody else who waits comes before it. */
function isNext(lane: Lane, uid: string): boolean {
  const first = firstOf(lane);
  return first === undefined || first.uid === uid;
}

function firstOf(lane: Lane): Waiting | undefined {
  let first: Waiting | undefined;
  for (const waiting of lane.waiting.values()) {
    if (first === undefined || comesBefore(waiting, first)) {
      first = waiting;
    }
  }
  return first;
}

function comesBefore(a: Waiting, b: Waiting): boolean {
  return a.isDeletion === b.isDeletion ? a.sinceMs < b.sinceMs : a.isDeletion;
}
