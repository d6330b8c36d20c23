import type { EndpointRecord, OperationRecord } from "./records.ts";
import type { OperationPosition } from "./store.ts";
import type { World } from "./world.ts";

interface Change<R> {
  readonly atMs: number;
  readonly id: string;
  /** `undefined`: it did not exist. */
  readonly before: R | undefined;
}

/**
 * Lets lists show the past: remembers, for as long as the lag asks for, what each record was before it changed.
 *
 * What was before the lag was switched on is not known: until the lag has passed once, lists show that moment.
 */
export class ListHistory<R extends { readonly id: string }> {
  #lagMs = 0;
  #changes: Change<R>[] = [];

  /** 0 switches it off and forgets everything. */
  setLag(lagMs: number): void {
    this.#lagMs = lagMs;
    if (lagMs === 0) this.#changes = [];
  }

  /** To be called before each change, with the record as it was. */
  note(atMs: number, id: string, before: R | undefined): void {
    if (this.#lagMs === 0) return;
    const keepFromMs = atMs - this.#lagMs;
    const oldest = this.#changes[0];
    if (oldest !== undefined && oldest.atMs <= keepFromMs) {
      this.#changes = this.#changes.filter((change) => change.atMs > keepFromMs);
    }
    this.#changes.push({ atMs, id, before });
  }

  /** The records that have changed since `asOfMs`, as they were then; `undefined` for one that did not exist. */
  changedSince(asOfMs: number): ReadonlyMap<string, R | undefined> {
    const first = new Map<string, R | undefined>();
    for (const change of this.#changes) {
      if (change.atMs > asOfMs && !first.has(change.id)) first.set(change.id, change.before);
    }
    return first;
  }
}

/** What lists show: the present, or the past while a lag is set. */
export class ListViews {
  readonly #world: World;
  #lagMs = 0;
  /** The newest operation position when the lag was set: older ones are never hidden. */
  #setAt: OperationPosition = { createdMs: 0, sequence: 0 };

  constructor(world: World) {
    this.#world = world;
  }

  setLag(lagMs: number): void {
    const { nowMs, store } = this.#world;
    this.#lagMs = lagMs;
    this.#setAt = { createdMs: nowMs, sequence: store.counters.get("sequence") };
    this.#world.endpointHistory.setLag(lagMs);
    this.#world.operationHistory.setLag(lagMs);
  }

  endpoints(projectId: string): readonly EndpointRecord[] {
    this.#world.project(projectId);
    const current = this.#world.store.endpoints.ofProject(projectId);
    const then = this.#world.endpointHistory.changedSince(this.#asOfMs());
    if (then.size === 0) return current;
    const unchanged = current.filter(({ id }) => !then.has(id));
    const past = [...then.values()].filter((endpoint) => endpoint?.projectId === projectId) as EndpointRecord[];
    return [...unchanged, ...past].sort((a, b) => a.sequence - b.sequence);
  }

  operations(
    projectId: string,
    { limit, after }: { readonly limit: number; readonly after: OperationPosition | undefined },
  ): readonly OperationRecord[] {
    this.#world.everProject(projectId);
    const upTo = this.#newestShown();
    const page = this.#world.store.operations.page({ projectId, limit, after, upTo });
    const then = this.#world.operationHistory.changedSince(this.#asOfMs());
    return page.map((operation) => then.get(operation.id) ?? operation);
  }

  #asOfMs(): number {
    return this.#world.nowMs - this.#lagMs;
  }

  #newestShown(): OperationPosition | undefined {
    if (this.#lagMs === 0) return undefined;
    const asOfMs = this.#asOfMs();
    return asOfMs >= this.#setAt.createdMs ? { createdMs: asOfMs, sequence: Number.MAX_SAFE_INTEGER - 1 } : this.#setAt;
  }
}
