/**
 * A small model of the sandbox's states. It is written from the state tables of the contract `seed` and from
 * docs/sandbox.md, and not from the engine. It has one project of a paid plan, and all operations take the same time.
 * It has no timers and no indexes: to find what happens next, it searches everything.
 */

/** An endpoint of the model, with the fields of the engine's endpoint that are compared. */
export interface ModelEndpoint {
  readonly name: string;
  branch: string;
  readonly type: "read_write" | "read_only";
  units: number;
  delaySeconds: number;
  disabled: boolean;
  state: "init" | "idle" | "active";
  pending: "idle" | "active" | undefined;
  lastActiveMs: number | undefined;
}

type ModelAction = "apply_config" | "check_availability" | "create_branch" | "start_compute" | "suspend_compute";

/** An operation of the model, with the fields of the engine's operation that are compared. */
export interface ModelOperation {
  readonly endpoint: string | undefined;
  readonly branch: string;
  readonly action: ModelAction;
  status: "scheduling" | "running" | "finished" | "failed";
  readonly createdMs: number;
  updatedMs: number;
  readonly runsMs: number;
  readonly endsMs: number;
  readonly fails: boolean;
}

/** The answer to a request: why it is refused, or the operations that it started. */
export type ModelAnswer = string | readonly ModelOperation[];

/** The fields that an update may change. */
export interface ModelChanges {
  readonly branch?: string;
  readonly units?: number;
  readonly delaySeconds?: number;
  readonly disabled?: boolean;
}

interface Failure {
  readonly action: ModelAction;
  readonly endpoint: string | undefined;
}

interface ModelBranch {
  readonly name: string;
  nextCheckMs: number;
}

interface Due {
  readonly atMs: number;
  readonly happen: () => void;
}

const defaultDelaySeconds = 300;
const hasEnded = ({ status }: ModelOperation) => status === "finished" || status === "failed";
const isWork = (operation: ModelOperation) => !hasEnded(operation) && operation.action !== "check_availability";

export class StateModel {
  readonly endpoints: ModelEndpoint[] = [];
  readonly operations: ModelOperation[] = [];
  readonly #branches: ModelBranch[];
  readonly #latencyMs: number;
  readonly #checkIntervalMs: number;
  #failures: Failure[] = [];
  #nowMs: number;

  constructor(parts: {
    readonly nowMs: number;
    readonly branches: readonly string[];
    readonly latencyMs: number;
    readonly checkIntervalMs: number;
  }) {
    this.#nowMs = parts.nowMs;
    this.#latencyMs = parts.latencyMs;
    this.#checkIntervalMs = parts.checkIntervalMs;
    this.#branches = parts.branches.map((name) => ({ name, nextCheckMs: parts.nowMs + parts.checkIntervalMs }));
  }

  get isLocked(): boolean {
    return this.operations.some(isWork);
  }

  failNext(failure: Failure): void {
    this.#failures.push(failure);
  }

  create(endpoint: Pick<ModelEndpoint, "name" | "branch" | "type" | "disabled" | "delaySeconds">): ModelAnswer {
    if (this.isLocked) return "Locked";
    const taken = this.#on(endpoint.branch).some(({ type }) => type === "read_write");
    if (endpoint.type === "read_write" && taken) return "Conflict";
    const pending = endpoint.disabled ? "idle" : "active";
    this.endpoints.push({ ...endpoint, units: 0.25, state: "init", pending, lastActiveMs: undefined });
    return this.#begin(endpoint, [endpoint.disabled ? "apply_config" : "start_compute"]);
  }

  /** Adds a new branch with a read-write endpoint. */
  createBranch(branch: string, endpoint: string): ModelAnswer {
    if (this.isLocked) return "Locked";
    this.#branches.push({ name: branch, nextCheckMs: this.#nowMs + this.#checkIntervalMs });
    const made = { name: endpoint, branch, type: "read_write", units: 0.25, delaySeconds: 0, disabled: false } as const;
    this.endpoints.push({ ...made, state: "init", pending: "active", lastActiveMs: undefined });
    return [
      this.#add({ name: undefined, branch }, "create_branch", 0),
      this.#add(made, "start_compute", this.#latencyMs),
    ];
  }

  update(name: string, changes: ModelChanges): ModelAnswer {
    const endpoint = this.#endpoint(name);
    if (this.isLocked) return "Locked";
    const after = { ...endpoint, ...changes };
    if (JSON.stringify(after) === JSON.stringify(endpoint)) return [];
    const isMoved = after.branch !== endpoint.branch;
    if (isMoved && this.#on(after.branch).length > 0) return "Conflict";
    const isActive = endpoint.state === "active";
    const isResized = after.units !== endpoint.units;
    Object.assign(endpoint, after);
    if (isMoved) return this.#move(endpoint);
    endpoint.pending = isActive ? "active" : "idle";
    if (isActive && endpoint.disabled) {
      endpoint.pending = "idle";
      return this.#begin(endpoint, ["apply_config", "suspend_compute"]);
    }
    const restarts = isActive && isResized;
    return this.#begin(endpoint, restarts ? ["apply_config", "suspend_compute", "start_compute"] : ["apply_config"]);
  }

  remove(name: string): ModelAnswer {
    const endpoint = this.#endpoint(name);
    if (this.isLocked) return "Locked";
    this.endpoints.splice(this.endpoints.indexOf(endpoint), 1);
    return endpoint.state === "active" ? this.#begin(endpoint, ["suspend_compute"]) : [];
  }

  start(name: string): ModelAnswer {
    const endpoint = this.#endpoint(name);
    if (this.isLocked) return "Locked";
    if (endpoint.disabled) return "NotAllowed";
    if (endpoint.state === "active") {
      endpoint.lastActiveMs = this.#nowMs;
      return [];
    }
    endpoint.pending = "active";
    return this.#begin(endpoint, ["start_compute"]);
  }

  /**
   * Handles a client of the database, for which the project lock does not matter. It starts an idle compute. If the
   * compute is being suspended, the next start is queued.
   */
  connect(name: string): ModelAnswer {
    const endpoint = this.#endpoint(name);
    if (endpoint.disabled) return "NotAllowed";
    const work = this.operations.filter((operation) => operation.endpoint === name && isWork(operation));
    const lastMove = work.findLast(({ action }) => action !== "apply_config")?.action;
    if (lastMove === "suspend_compute") {
      endpoint.pending = "active";
      const busyUntilMs = Math.max(...work.map(({ endsMs }) => endsMs));
      return [this.#add(endpoint, "start_compute", busyUntilMs - this.#nowMs)];
    }
    if (endpoint.state === "active") endpoint.lastActiveMs = this.#nowMs;
    if (endpoint.state === "active" || lastMove !== undefined) return [];
    endpoint.pending = "active";
    return this.#begin(endpoint, ["start_compute"]);
  }

  suspend(name: string): ModelAnswer {
    const endpoint = this.#endpoint(name);
    if (this.isLocked) return "Locked";
    if (endpoint.state !== "active") return [];
    endpoint.pending = "idle";
    return this.#begin(endpoint, ["suspend_compute"]);
  }

  restart(name: string): ModelAnswer {
    const endpoint = this.#endpoint(name);
    if (this.isLocked) return "Locked";
    if (endpoint.state !== "active") return "NotAllowed";
    endpoint.pending = "active";
    return this.#begin(endpoint, ["suspend_compute", "start_compute"]);
  }

  /** Lets time pass. Everything that becomes due happens at its own time. */
  advance(milliseconds: number): void {
    const untilMs = this.#nowMs + milliseconds;
    for (;;) {
      const due = this.#due().filter(({ atMs }) => atMs <= untilMs);
      const first = due.reduce<Due | undefined>((a, b) => (a === undefined || b.atMs < a.atMs ? b : a), undefined);
      if (first === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, first.atMs);
      first.happen();
    }
    this.#nowMs = untilMs;
  }

  /**
   * Returns what is due. If several things are due at the same time, operations come first, in the order of their
   * creation.
   */
  #due(): readonly Due[] {
    const operations = this.operations.filter((operation) => !hasEnded(operation));
    return [
      ...operations.map((operation): Due => {
        const atMs = operation.status === "scheduling" ? operation.runsMs : operation.endsMs;
        return { atMs, happen: () => this.#moveOn(operation) };
      }),
      ...this.endpoints.flatMap((endpoint): Due[] => {
        const atMs = this.#inactiveFromMs(endpoint);
        return atMs === undefined ? [] : [{ atMs, happen: () => this.#autoSuspend(endpoint) }];
      }),
      ...this.#branches.map((branch): Due => ({ atMs: branch.nextCheckMs, happen: () => this.#check(branch) })),
    ];
  }

  #inactiveFromMs({ name, state, delaySeconds, lastActiveMs }: ModelEndpoint): number | undefined {
    const isBusy = this.operations.some((operation) => operation.endpoint === name && isWork(operation));
    if (state !== "active" || isBusy || delaySeconds === -1) return undefined;
    const delayMs = (delaySeconds === 0 ? defaultDelaySeconds : delaySeconds) * 1000;
    return Math.max(this.#nowMs, (lastActiveMs ?? 0) + delayMs);
  }

  #autoSuspend(endpoint: ModelEndpoint): void {
    endpoint.pending = "idle";
    this.#begin(endpoint, ["suspend_compute"]);
  }

  #check(branch: ModelBranch): void {
    branch.nextCheckMs += this.#checkIntervalMs;
    const on = this.#on(branch.name);
    const endpoint = on.find(({ type }) => type === "read_write") ?? on[0];
    if (endpoint !== undefined) this.#add(endpoint, "check_availability", this.#latencyMs);
  }

  #moveOn(operation: ModelOperation): void {
    operation.updatedMs = this.#nowMs;
    if (operation.status === "scheduling") {
      operation.status = "running";
      return;
    }
    operation.status = operation.fails ? "failed" : "finished";
    const endpoint = this.endpoints.find(({ name }) => name === operation.endpoint);
    if (endpoint === undefined || operation.action === "check_availability") return;
    if (!operation.fails && operation.action === "suspend_compute" && endpoint.state === "active") {
      endpoint.state = "idle";
    }
    if (!operation.fails && operation.action === "start_compute" && endpoint.state !== "active") {
      endpoint.state = "active";
      endpoint.lastActiveMs = this.#nowMs;
    }
    if (this.operations.some((other) => other.endpoint === endpoint.name && isWork(other))) return;
    endpoint.pending = undefined;
    if (endpoint.state === "init") endpoint.state = "idle";
  }

  /**
   * Moves an endpoint. If it is active, both operations run at the same time and the suspend ends first. If it is idle,
   * the suspend waits.
   */
  #move(endpoint: ModelEndpoint): readonly ModelOperation[] {
    endpoint.pending = "idle";
    if (endpoint.state !== "active") return this.#begin(endpoint, ["apply_config", "suspend_compute"]);
    return [
      this.#add(endpoint, "apply_config", 0, 2 * this.#latencyMs),
      this.#add(endpoint, "suspend_compute", 0, this.#latencyMs),
    ];
  }

  #begin(endpoint: { name: string; branch: string }, actions: readonly ModelAction[]): readonly ModelOperation[] {
    return actions.map((action, index) => this.#add(endpoint, action, index * this.#latencyMs));
  }

  #add(
    { name, branch }: { readonly name: string | undefined; readonly branch: string },
    action: ModelAction,
    waitsMs: number,
    lastsMs = this.#latencyMs,
  ): ModelOperation {
    const fits = (failure: Failure) =>
      failure.action === action && (failure.endpoint === undefined || failure.endpoint === name);
    const failure = this.#failures.find(fits);
    this.#failures = this.#failures.filter((each) => each !== failure);
    const operation: ModelOperation = {
      endpoint: name,
      branch,
      action,
      status: waitsMs === 0 ? "running" : "scheduling",
      createdMs: this.#nowMs,
      updatedMs: this.#nowMs,
      runsMs: this.#nowMs + waitsMs,
      endsMs: this.#nowMs + waitsMs + lastsMs,
      fails: failure !== undefined,
    };
    this.operations.push(operation);
    return operation;
  }

  #on(branch: string): readonly ModelEndpoint[] {
    return this.endpoints.filter((endpoint) => endpoint.branch === branch);
  }

  #endpoint(name: string): ModelEndpoint {
    const found = this.endpoints.find((endpoint) => endpoint.name === name);
    if (found === undefined) throw new Error(`the model has no endpoint ${name}`);
    return found;
  }
}
