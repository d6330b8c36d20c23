/** Tests the engine with random sequences of requests. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Engine, makeEngine } from "../../../src/sandbox/engine/engine.ts";
import { fixtureWithoutEndpoints } from "../../../src/sandbox/engine/fixture.ts";
import { profiles } from "../../../src/sandbox/engine/profile.ts";
import type { EndpointRecord, OperationRecord } from "../../../src/sandbox/engine/records.ts";
import { Refusal } from "../../../src/sandbox/engine/refusal.ts";
import { defaultEngineSettings, type EngineSettings } from "../../../src/sandbox/engine/settings.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";

const projectId = "green-fox-123456";
const branchIds = ["br-still-lake-123456", "br-quiet-sun-123456", "br-bold-river-123456"] as const;
const settings = { ...defaultEngineSettings, availabilityCheckIntervalMs: 50_000 };

/** An engine in memory on a clock that only the test moves. */
class Stage {
  nowMs = Date.UTC(2026, 0, 1);
  readonly engine: Engine;

  constructor(seed = 1, changes: Partial<EngineSettings> = {}) {
    const clock = { nowMs: () => this.nowMs };
    this.engine = makeEngine({
      store: new Store(),
      clock,
      profile: profiles.seed,
      settings: { ...settings, seed, ...changes },
    });
    this.engine.reset(fixtureWithoutEndpoints);
  }

  step(milliseconds: number): void {
    this.nowMs += milliseconds;
    this.engine.advance();
  }

  everything(): { endpoints: readonly EndpointRecord[]; operations: readonly OperationRecord[] } {
    const page = { limit: 100_000, after: undefined };
    return { endpoints: this.engine.endpoints(projectId), operations: this.engine.operations(projectId, page) };
  }
}

type Command =
  | { readonly kind: "create"; readonly branch: number; readonly isReadOnly: boolean; readonly delay: number }
  | { readonly kind: "resize" | "move" | "delete" | "start" | "suspend" | "restart" | "disable"; readonly pick: number }
  | { readonly kind: "fail"; readonly action: "start_compute" | "suspend_compute" | "apply_config" }
  | { readonly kind: "step"; readonly milliseconds: number };

const pick = fc.nat(3);
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    kind: fc.constant("create" as const),
    branch: fc.nat(2),
    isReadOnly: fc.boolean(),
    delay: fc.constantFrom(-1, 0, 1, 30),
  }),
  fc.record({
    kind: fc.constantFrom("resize", "move", "delete", "start", "suspend", "restart", "disable" as const),
    pick,
  }),
  fc.record({
    kind: fc.constant("fail" as const),
    action: fc.constantFrom("start_compute", "suspend_compute", "apply_config" as const),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("step" as const),
      milliseconds: fc.constantFrom(0, 1, 400, 2500, 60_000, 400_000),
    }),
  },
);

/** Carries a command out; a refusal counts as an answer. */
function perform(stage: Stage, asked: Command): string {
  const { engine } = stage;
  if (asked.kind === "step") return String(stage.step(asked.milliseconds));
  if (asked.kind === "fail") {
    return String(engine.failNext({ action: asked.action, endpointId: undefined, times: 1, error: "asked for" }));
  }
  try {
    if (asked.kind === "create") {
      const type = asked.isReadOnly ? "read_only" : "read_write";
      const branchId = branchIds[asked.branch] as string;
      return engine.createEndpoint(projectId, { branchId, type, suspendTimeoutSeconds: asked.delay }).endpoint.id;
    }
    const endpoints = engine.endpoints(projectId);
    const target = endpoints[asked.pick % Math.max(1, endpoints.length)];
    return target === undefined ? "none" : JSON.stringify(call(engine, asked.kind, target));
  } catch (error) {
    if (error instanceof Refusal) return error.reason;
    throw error;
  }
}

function call(engine: Engine, kind: Exclude<Command["kind"], "create" | "fail" | "step">, target: EndpointRecord) {
  switch (kind) {
    case "resize":
      return engine.updateEndpoint(projectId, {
        endpointId: target.id,
        changes: { minUnits: 1, maxUnits: target.maxUnits === 1 ? 2 : 1 },
      });
    case "move":
      return engine.updateEndpoint(projectId, {
        endpointId: target.id,
        changes: { branchId: branchIds.find((id) => id !== target.branchId) },
      });
    case "disable":
      return engine.updateEndpoint(projectId, { endpointId: target.id, changes: { disabled: !target.disabled } });
    case "delete":
      return engine.deleteEndpoint(projectId, target.id);
    case "start":
      return engine.startEndpoint(projectId, target.id);
    case "suspend":
      return engine.suspendEndpoint(projectId, target.id);
    case "restart":
      return engine.restartEndpoint(projectId, target.id);
  }
}

describe("any sequence of requests and time", () => {
  const commands = fc.array(command, { minLength: 1, maxLength: 40 });

  test("→ one long step of the clock gives what many short ones give", () => {
    fc.assert(
      fc.property(commands, fc.integer({ min: 1, max: 7 }), (sequence, parts) => {
        const [long, short] = [new Stage(), new Stage()];
        for (const asked of sequence) {
          perform(long, asked);
          if (asked.kind !== "step") perform(short, asked);
          else {
            const each = Math.floor(asked.milliseconds / parts);
            for (let part = 1; part < parts; part += 1) short.step(each);
            short.step(asked.milliseconds - each * (parts - 1));
          }
        }
        expect(short.everything()).toEqual(long.everything());
      }),
      { numRuns: 150 },
    );
  });
});

describe("refusals", () => {
  test("a request that is refused → draws nothing, so what follows is the same as without it", () => {
    const [plain, refused] = [new Stage(), new Stage()];
    expect(() => refused.engine.createEndpoint(projectId, { branchId: "none", type: "read_write" })).toThrow(Refusal);
    const tooLarge = { branchId: branchIds[1], type: "read_write" as const, minUnits: 9, maxUnits: 9 };
    expect(() => refused.engine.createEndpoint(projectId, tooLarge)).toThrow("largest compute size");
    const create = (stage: Stage) =>
      stage.engine.createEndpoint(projectId, { branchId: branchIds[1], type: "read_write" });
    expect(create(refused)).toEqual(create(plain));
  });

  test("a clock that goes back → counts as standing still", () => {
    const stage = new Stage();
    const { endpoint } = stage.engine.createEndpoint(projectId, { branchId: branchIds[1], type: "read_write" });
    stage.step(2000);
    stage.step(-60_000);
    expect(stage.engine.endpoint(projectId, endpoint.id).state).toBe("active");
    const { operations } = stage.engine.restartEndpoint(projectId, endpoint.id);
    expect(operations[0]?.createdMs).toBe(Date.UTC(2026, 0, 1) + 2000);
  });
});

describe("time", () => {
  const suspending = { branchId: branchIds[1], type: "read_write", suspendTimeoutSeconds: 10 } as const;

  test("auto-suspend that falls due while work runs → waits for its end", () => {
    const stage = new Stage();
    const { endpoint } = stage.engine.createEndpoint(projectId, suspending);
    stage.step(2000);
    const due = (stage.engine.endpoint(projectId, endpoint.id).lastActiveMs ?? 0) + 10_000;
    stage.step(due - stage.nowMs - 1);
    const { operations } = stage.engine.updateEndpoint(projectId, {
      endpointId: endpoint.id,
      changes: { poolerEnabled: true },
    });
    stage.step(60_000);
    const [suspend] = stage.everything().operations.filter(({ action }) => action === "suspend_compute");
    expect(suspend?.createdMs).toBe(operations[0]?.endsAtMs);
  });

  test("operations that take no time → siblings still end in order", () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const stage = new Stage(seed, { operationLatencyMs: { min: 0, max: 0 } });
      const { endpoint } = stage.engine.createEndpoint(projectId, { branchId: branchIds[1], type: "read_write" });
      const { operations } = stage.engine.restartEndpoint(projectId, endpoint.id);
      expect(operations.map(({ status }) => status)).toEqual(["running", "scheduling"]);
      expect(stage.engine.endpoint(projectId, endpoint.id)).toMatchObject({ state: "active", pendingState: undefined });
    }
  });

  test("endpoint that is deleted → nothing of it falls due any more", () => {
    const stage = new Stage();
    const { endpoint } = stage.engine.createEndpoint(projectId, suspending);
    stage.step(2000);
    stage.engine.deleteEndpoint(projectId, endpoint.id);
    stage.step(2000);
    expect(stage.engine.nextDueMs()).toBe(Date.UTC(2026, 0, 1) + settings.availabilityCheckIntervalMs);
    stage.step(settings.availabilityCheckIntervalMs);
    expect(stage.engine.nextDueMs()).toBeUndefined();
  });

  test("next due → the earliest thing that will happen by itself", () => {
    const stage = new Stage();
    expect(stage.engine.nextDueMs()).toBeUndefined();
    const { operations } = stage.engine.createEndpoint(projectId, { branchId: branchIds[1], type: "read_write" });
    expect(stage.engine.nextDueMs()).toBe(operations[0]?.endsAtMs);
    stage.step(2000);
    expect(stage.engine.nextDueMs()).toBe(Date.UTC(2026, 0, 1) + settings.availabilityCheckIntervalMs);
  });
});

test("more deleted projects than are kept → those deleted last can be recovered, and no other", () => {
  const { engine } = new Stage(1, { recoverableProjects: 1 });
  const [first = "", second = ""] = engine.projects().map(({ id }) => id);
  engine.deleteProject(first);
  engine.deleteProject(second);
  expect(engine.restores.recoverableProjects().map(({ id }) => id)).toEqual([second]);
  expect(() => engine.restores.recoverProject(first)).toThrow("can no longer be recovered");
});
