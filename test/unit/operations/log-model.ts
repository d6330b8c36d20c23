/** A model of a control plane's operation log, for random histories. */
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { compareNewestFirst, type Operation } from "../../../src/domain/operation.ts";
import { parseMark } from "../../../src/operations/counting.ts";
import { ProjectOperations } from "../../../src/operations/reader.ts";
import { type OperationLogState, reduceOperations } from "../../../src/operations/reduce-operations.ts";
import { endpoint, operation, ownership, project, stored, subject } from "./log-builders.ts";

/** The next event at the control plane or in the operator. */
export type Move =
  | { readonly kind: "Begin"; readonly owner: number; readonly action: string; readonly machineMs: number }
  | { readonly kind: "End"; readonly nth: number; readonly status: string }
  | { readonly kind: "Retry"; readonly nth: number }
  | { readonly kind: "Pass"; readonly seconds: number }
  | { readonly kind: "Restart" }
  /**
   * A reconcile. The list shows the log as it was `lag` moves ago. The statuses of `lost` resources cannot be stored.
   * Reads by id may fail.
   */
  | { readonly kind: "Look"; readonly lag: number; readonly lost: number; readonly failsById: boolean };

/** The properties of the log apart from its moves. */
export interface LogNature {
  /** Timestamps in whole seconds. */
  readonly isCoarse: boolean;
  readonly pageSize: number;
}

interface Resource {
  readonly uid: string;
  readonly endpointId: string;
  state: OperationLogState;
}

/**
 * A control plane with the true log, and an operator with the real reader and reducer, which counts the log's
 * operations.
 */
export class LogModel {
  readonly counted: string[] = [];
  readonly gaps: unknown[] = [];
  readonly #nature: LogNature;
  /**
   * The operator's own clock. It is not a FakeClock, because that lets promises settle at each move, which takes most
   * of the time.
   */
  #monotonicMs = 1_000;
  readonly #resources: Resource[];
  #history: (readonly Operation[])[] = [[]];
  #serviceMs = Date.UTC(2026, 10, 21, 12);
  #reader: ProjectOperations;

  constructor(nature: LogNature, owners: number) {
    this.#nature = nature;
    this.#reader = this.#startReader();
    this.#resources = Array.from({ length: owners }, (_, index) => ({
      uid: `uid-${index}`,
      endpointId: `ep-${index}`,
      state: {},
    }));
  }

  /** All operations in their true state. */
  get log(): readonly Operation[] {
    return this.#history.at(-1) ?? [];
  }

  /** Returns the ids of the ended operations of resources' endpoints. */
  get truth(): readonly string[] {
    const endpointIds = this.#resources.map(({ endpointId }) => endpointId);
    const ended = this.log.filter(({ status }) => !["running", "scheduling"].includes(status));
    return ended.filter(({ endpointId }) => endpointIds.includes(endpointId ?? "")).map(({ id }) => id);
  }

  async make(move: Move): Promise<void> {
    switch (move.kind) {
      case "Begin":
        return this.#change([...this.log, this.#begun(move)]);
      case "End":
        return this.#update(move.nth, ["running"], () => ({ status: move.status }));
      case "Retry":
        return this.#update(move.nth, ["failed"], ({ failuresCount }) => ({
          status: "running",
          failuresCount: failuresCount + 1,
        }));
      case "Pass":
        this.#serviceMs += move.seconds * 1_000;
        this.#monotonicMs += move.seconds * 1_000;
        return;
      case "Restart":
        this.#reader = this.#startReader();
        return;
      case "Look":
        return this.look(move);
    }
  }

  /** Lets every operation end, and reconciles often enough to see all of them. */
  async settle(): Promise<void> {
    this.#change(this.log.map((each) => (each.status === "running" ? { ...each, status: "finished" } : each)));
    for (let n = 0; n < 6; n += 1) {
      await this.make({ kind: "Pass", seconds: 601 });
      await this.look({ lag: 0, lost: -1, failsById: false });
    }
  }

  async look({ lag, lost, failsById }: { lag: number; lost: number; failsById: boolean }): Promise<void> {
    const listed = this.#history.at(-1 - lag) ?? this.#history[0] ?? [];
    const ranges = this.#resources.flatMap(({ state }) => parseMark(state.operationWatermark) ?? []);
    const snapshot = await this.#reader.read(this.#source(listed, failsById), project, ranges);
    for (const [index, resource] of this.#resources.entries()) {
      const owner = ownership({ endpointId: resource.endpointId });
      const step = reduceOperations(resource.state, snapshot, {
        ...subject({
          ownership: owner,
          previousOwnership: resource.state.operationWatermark === undefined ? undefined : owner,
          endpoint: endpoint({ id: resource.endpointId, branchId: `br-${index}` }),
        }),
      });
      if (index !== lost) {
        if (step.mustStore) resource.state = stored(step.state);
        this.counted.push(...step.ended.map(({ operationId }) => operationId));
      }
    }
  }

  #startReader(): ProjectOperations {
    const { pageSize } = this.#nature;
    const onGap = (gap: unknown) => void this.gaps.push(gap);
    const clock = { nowMs: () => 0, monotonicMs: () => this.#monotonicMs, after: () => ({ cancel: () => {} }) };
    return new ProjectOperations({ clock, pageSize, onGap });
  }

  #source(listed: readonly Operation[], failsById: boolean) {
    const newestFirst = [...listed].sort(compareNewestFirst);
    return {
      listOperations: async (_projectId: string, { limit, cursor = "0" }: { limit: number; cursor?: string }) => {
        const end = Number(cursor) + limit;
        const operations = newestFirst.slice(Number(cursor), end);
        return { operations, unreadableIds: [], cursor: end < newestFirst.length ? `${end}` : undefined };
      },
      getOperation: async (_projectId: string, id: string) => {
        if (failsById) throw new ControlPlaneError("ServerError", "cannot", { effect: "NotApplied" });
        return this.log.find((each) => each.id === id);
      },
    };
  }

  #begun({ owner, action, machineMs }: Extract<Move, { kind: "Begin" }>): Operation {
    const createdTime = this.#time(machineMs);
    const id = `op-${this.log.length}`;
    const change = { action, status: "running", createdTime, updatedTime: createdTime };
    return operation(id, 0, { ...change, endpointId: `ep-${owner}`, branchId: `br-${owner}` });
  }

  #time(machineMs: number): string {
    const ms = this.#serviceMs + machineMs;
    return new Date(this.#nature.isCoarse ? Math.floor(ms / 1_000) * 1_000 : ms).toISOString();
  }

  #update(nth: number, from: readonly string[], change: (each: Operation) => Partial<Operation>): void {
    const candidates = this.log.filter(({ status }) => from.includes(status));
    const chosen = candidates[nth % Math.max(1, candidates.length)];
    const updatedTime = this.#time(0);
    this.#change(this.log.map((each) => (each === chosen ? { ...each, ...change(each), updatedTime } : each)));
  }

  #change(log: readonly Operation[]): void {
    this.#history.push(log);
  }
}
