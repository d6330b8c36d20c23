/** The random commands for the engine and its model. */
import fc from "fast-check";
import { expect } from "vitest";
import { Engine } from "../../../src/sandbox/engine/engine.ts";
import { fixtureWithoutEndpoints } from "../../../src/sandbox/engine/fixture.ts";
import { profiles } from "../../../src/sandbox/engine/profile.ts";
import type { OperationRecord } from "../../../src/sandbox/engine/records.ts";
import { Refusal } from "../../../src/sandbox/engine/refusal.ts";
import { defaultEngineSettings } from "../../../src/sandbox/engine/settings.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";
import { type ModelAnswer, type ModelChanges, type ModelOperation, StateModel } from "./state-model.ts";

const projectId = "green-fox-123456";
const branchIds = ["br-still-lake-123456", "br-quiet-sun-123456", "br-bold-river-123456"] as const;
const startMs = Date.UTC(2026, 0, 1);
const latencyMs = 400;
const checkIntervalMs = 50_000;

/**
 * One request, one step of the clock, or one planned failure. `pick` chooses among the objects that exist at that
 * moment.
 */
export type Command =
  | { readonly kind: "create"; readonly branch: number; readonly isReadOnly: boolean; readonly delay: number }
  | { readonly kind: "createDisabled"; readonly branch: number }
  | { readonly kind: "createBranch" }
  | { readonly kind: "move"; readonly pick: number; readonly branch: number }
  | { readonly kind: "change"; readonly pick: number; readonly changes: ModelChanges }
  | { readonly kind: "remove"; readonly pick: number }
  | { readonly kind: "start" | "suspend" | "restart"; readonly pick: number }
  | { readonly kind: "connect"; readonly pick: number }
  | { readonly kind: "fail"; readonly pick: number; readonly action: "apply_config" | "start_compute" }
  | { readonly kind: "failSuspend"; readonly pick: number }
  | { readonly kind: "step"; readonly milliseconds: number };

const branch = fc.nat(3);
const pick = fc.nat(4);
const delay = fc.constantFrom(-1, 0, 1, 30);
const of = <K extends Command["kind"]>(...kinds: readonly K[]) => fc.constantFrom(...kinds);

/** Steps that end just before, exactly at, and just after a latency, a delay or an availability check. */
const step = fc.record({
  kind: of("step"),
  milliseconds: fc.oneof(
    fc.constantFrom(0, 1, latencyMs - 1, latencyMs, 2 * latencyMs, 3 * latencyMs, 30_000, 50_000, 300_000),
    fc.nat(2_000),
    fc.nat(400_000),
  ),
});

const changes: fc.Arbitrary<ModelChanges> = fc.oneof(
  fc.constantFrom(0.25, 0.5, 1).map((units) => ({ units })),
  delay.map((delaySeconds) => ({ delaySeconds })),
  fc.boolean().map((disabled) => ({ disabled })),
  fc.record({ units: fc.constantFrom(0.25, 2), disabled: fc.boolean() }),
);

/** Makes any one command. Steps of the clock are about as frequent as requests. */
export const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: of("create"), branch, isReadOnly: fc.boolean(), delay }) },
  { weight: 1, arbitrary: fc.record({ kind: of("createDisabled"), branch }) },
  { weight: 1, arbitrary: fc.record({ kind: of("createBranch") }) },
  { weight: 2, arbitrary: fc.record({ kind: of("move"), pick, branch }) },
  { weight: 3, arbitrary: fc.record({ kind: of("change"), pick, changes }) },
  { weight: 1, arbitrary: fc.record({ kind: of("remove"), pick }) },
  { weight: 3, arbitrary: fc.record({ kind: of("start", "suspend", "restart"), pick }) },
  { weight: 2, arbitrary: fc.record({ kind: of("connect"), pick }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: of("fail"), pick, action: fc.constantFrom("apply_config", "start_compute") }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of("failSuspend"), pick }) },
  { weight: 9, arbitrary: step },
);

/** An engine and a model that get the same commands. */
export class SideBySide {
  readonly engine: Engine;
  readonly model: StateModel;
  readonly log: string[] = [];
  #nowMs = startMs;
  #made = 0;
  /** The id of the engine for each endpoint and branch of the model, and the other way round. */
  readonly #ids = new Map<string, string>(branchIds.map((id) => [id, id]));
  readonly #names = new Map(this.#ids);

  constructor(seed: number, store: Store = new Store()) {
    const settings = {
      ...defaultEngineSettings,
      operationLatencyMs: { min: latencyMs, max: latencyMs },
      availabilityCheckIntervalMs: checkIntervalMs,
      seed,
    };
    this.engine = new Engine({ store, clock: { nowMs: () => this.#nowMs }, profile: profiles.seed, settings });
    this.engine.reset(fixtureWithoutEndpoints);
    this.model = new StateModel({ nowMs: startMs, branches: branchIds, latencyMs, checkIntervalMs });
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Runs a command on both sides, and compares answers and states. */
  perform(asked: Command): void {
    const [fromEngine, fromModel] = this.#both(asked);
    this.log.push(JSON.stringify([asked, fromEngine]));
    expect(fromEngine, `the answer to ${JSON.stringify(asked)}`).toEqual(fromModel);
    this.compare();
  }

  compare(): void {
    const endpoints = this.engine.endpoints(projectId).map((each) => ({
      name: this.#nameOf(each.id),
      branch: this.#nameOf(each.branchId),
      type: each.type,
      units: each.minUnits,
      delaySeconds: each.suspendTimeoutSeconds,
      disabled: each.disabled,
      state: each.state,
      pending: each.pendingState,
      lastActiveMs: each.lastActiveMs,
    }));
    expect(endpoints).toEqual(this.model.endpoints);
    const newestFirst = this.operations();
    expect(newestFirst.map(({ createdMs }) => createdMs)).toEqual(
      newestFirst.map(({ createdMs }) => createdMs).sort((a, b) => b - a),
    );
    expect(newestFirst.map((each) => this.#plain(each)).sort()).toEqual(this.model.operations.map(plain).sort());
    this.log.push(JSON.stringify([endpoints, newestFirst]));
  }

  /** All operations, newest first. */
  operations(): readonly OperationRecord[] {
    return this.engine.operations(projectId, { limit: 1_000_000, after: undefined });
  }

  page(limit: number, after: OperationRecord | undefined): readonly OperationRecord[] {
    return this.engine.operations(projectId, { limit, after });
  }

  #both(asked: Command): readonly [unknown, unknown] {
    if (asked.kind === "step") return this.#step(asked.milliseconds);
    if (asked.kind === "create" || asked.kind === "createDisabled") return this.#create(asked);
    if (asked.kind === "createBranch") return this.#createBranch();
    const target = this.model.endpoints[asked.pick % Math.max(1, this.model.endpoints.length)]?.name;
    if (asked.kind === "fail") return this.#fail(asked.action, asked.pick > 2 ? target : undefined);
    if (target === undefined) return [undefined, undefined];
    if (asked.kind === "failSuspend") return this.#fail("suspend_compute", target);
    return this.#request(asked, target);
  }

  #step(milliseconds: number): readonly [unknown, unknown] {
    this.#nowMs += milliseconds;
    this.engine.advance();
    this.model.advance(milliseconds);
    return [undefined, undefined];
  }

  #create(asked: Extract<Command, { kind: "create" | "createDisabled" }>): readonly [unknown, unknown] {
    const name = `endpoint ${this.#made}`;
    const branchId = branchIds[asked.branch % branchIds.length] as string;
    const isOrdinary = asked.kind === "create";
    const type = isOrdinary && asked.isReadOnly ? "read_only" : "read_write";
    const [delaySeconds, disabled] = [isOrdinary ? asked.delay : 0, !isOrdinary];
    return this.#compare(
      () => {
        const creation = { branchId, type, suspendTimeoutSeconds: delaySeconds, disabled } as const;
        const { endpoint, operations } = this.engine.createEndpoint(projectId, creation);
        this.#note(name, endpoint.id);
        this.#made += 1;
        return operations;
      },
      () => this.model.create({ name, branch: branchId, type, delaySeconds, disabled }),
    );
  }

  #createBranch(): readonly [unknown, unknown] {
    const [name, branchName] = [`endpoint ${this.#made}`, `branch ${this.#made}`];
    return this.#compare(
      () => {
        const made = this.engine.createBranch(projectId, {
          name: branchName,
          parentId: undefined,
          protected: false,
          endpoints: [{ type: "read_write" }],
        });
        this.#note(branchName, made.branch.id);
        this.#note(name, made.endpoints[0]?.id ?? "");
        this.#made += 1;
        return made.operations;
      },
      () => this.model.createBranch(branchName, name),
    );
  }

  #fail(action: "apply_config" | "start_compute" | "suspend_compute", name: string | undefined) {
    const endpointId = name === undefined ? undefined : this.#ids.get(name);
    this.engine.failNext({ action, endpointId, times: 1, error: "asked for" });
    this.model.failNext({ action, endpoint: name });
    return [undefined, undefined] as const;
  }

  #request(
    asked: Extract<Command, { kind: "move" | "change" | "remove" | "start" | "suspend" | "restart" | "connect" }>,
    name: string,
  ): readonly [unknown, unknown] {
    const { engine, model } = this;
    const id = this.#ids.get(name) as string;
    switch (asked.kind) {
      case "move": {
        const target = branchIds[asked.branch % branchIds.length] as string;
        return this.#compare(
          () => engine.updateEndpoint(projectId, id, { branchId: target }).operations,
          () => model.update(name, { branch: target }),
        );
      }
      case "change": {
        const { units, delaySeconds, disabled } = asked.changes;
        const fields = { minUnits: units, maxUnits: units, suspendTimeoutSeconds: delaySeconds, disabled };
        return this.#compare(
          () => engine.updateEndpoint(projectId, id, fields).operations,
          () => model.update(name, asked.changes),
        );
      }
      case "remove":
        return this.#compare(
          () => engine.deleteEndpoint(projectId, id).operations,
          () => model.remove(name),
        );
      case "connect":
        return this.#compare(
          () => engine.connect(id, undefined).operations,
          () => model.connect(name),
        );
      default:
        return this.#compare(
          () => engine[`${asked.kind}Endpoint`](projectId, id).operations,
          () => model[asked.kind](name),
        );
    }
  }

  #compare(ask: () => readonly OperationRecord[], expected: () => ModelAnswer): readonly [unknown, unknown] {
    const wanted = expected();
    return [this.#answer(ask), typeof wanted === "string" ? wanted : wanted.map(plain)];
  }

  #answer(ask: () => readonly OperationRecord[]): unknown {
    try {
      return ask().map((operation) => this.#plain(operation));
    } catch (error) {
      if (error instanceof Refusal) return error.reason;
      throw error;
    }
  }

  #note(name: string, id: string): void {
    this.#ids.set(name, id);
    this.#names.set(id, name);
  }

  #nameOf(id: string): string {
    return this.#names.get(id) ?? `unknown ${id}`;
  }

  #plain(operation: OperationRecord): string {
    const { endpointId, branchId, action, status, failuresCount, createdMs, updatedMs } = operation;
    const endpoint = endpointId === undefined ? undefined : this.#nameOf(endpointId);
    const text = { endpoint, branch: this.#nameOf(branchId), action, status, createdMs, updatedMs };
    return textOf(text, failuresCount);
  }
}

function plain(operation: ModelOperation): string {
  return textOf(operation, operation.status === "failed" ? 1 : 0);
}

function textOf(
  operation: Pick<ModelOperation, "endpoint" | "branch" | "action" | "status" | "createdMs" | "updatedMs"> | object,
  failuresCount: number,
): string {
  const { endpoint, branch: on, action, status, createdMs, updatedMs } = operation as ModelOperation;
  return JSON.stringify([createdMs - startMs, action, endpoint ?? "", on, status, updatedMs - startMs, failuresCount]);
}
