/** Lists endpoints and operations, as of now or as of some time ago. */
import type { EndpointRecord, OperationRecord } from "./records.ts";
import { cursorModulus, type OperationPosition } from "./store.ts";
import type { World } from "./world.ts";

export class ListViews {
  readonly #world: World;
  #lagMs = 0;
  /** The position of the newest operation when the lag was set. This operation and older ones are never hidden. */
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
    page: { readonly limit: number; readonly after: OperationPosition | undefined },
  ): readonly OperationRecord[] {
    const { limit } = page;
    this.#world.everProject(projectId);
    const after = page.after && this.#resolve(projectId, page.after);
    const upTo = this.#newestShown();
    const found = this.#world.store.operations.page({ projectId, limit, after, upTo });
    const then = this.#world.operationHistory.changedSince(this.#asOfMs());
    return found.map((operation) => then.get(operation.id) ?? operation);
  }

  /**
   * Returns the position in the list that a cursor stands for. A cursor has the creation time of an operation, and the
   * last six digits of its sequence.
   * If no operation matches the cursor, it counts as a plain time, and the operations older than that time follow. If
   * its digits are not 0, the operations of that same millisecond follow too.
   */
  #resolve(projectId: string, { createdMs, sequence }: OperationPosition): OperationPosition {
    const latestUpTo = (upTo: OperationPosition): OperationRecord | undefined =>
      this.#world.store.operations.page({ projectId, limit: 1, after: undefined, upTo })[0];
    const newest = latestUpTo({ createdMs, sequence: Number.MAX_SAFE_INTEGER });
    if (newest?.createdMs === createdMs) {
      const behind = (((newest.sequence - sequence) % cursorModulus) + cursorModulus) % cursorModulus;
      const wanted = newest.sequence - behind;
      if (latestUpTo({ createdMs, sequence: wanted })?.sequence === wanted) return { createdMs, sequence: wanted };
    }
    return { createdMs, sequence: sequence === 0 ? 0 : Number.MAX_SAFE_INTEGER };
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
