/** Tests operations with real work. */
import { describe, expect, test } from "vitest";
import type { ComputeDriver } from "../../../src/sandbox/engine/compute-driver.ts";
import { makeEngine } from "../../../src/sandbox/engine/engine.ts";
import { fixtureWithoutEndpoints } from "../../../src/sandbox/engine/fixture.ts";
import { profiles } from "../../../src/sandbox/engine/profile.ts";
import { RealWork } from "../../../src/sandbox/engine/real-work.ts";
import type { OperationRecord } from "../../../src/sandbox/engine/records.ts";
import { defaultEngineSettings } from "../../../src/sandbox/engine/settings.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";

const projectId = "green-fox-123456";
const branchId = "br-quiet-sun-123456";
const creation = { branchId, type: "read_write" } as const;
const latencyMs = 500;

/** A driver whose work ends when the test says so. */
class ScriptedDriver implements ComputeDriver {
  readonly running = new Map<string, PromiseWithResolvers<void>>();
  readonly begun: string[] = [];

  carryOut({ action }: OperationRecord): Promise<void> {
    const work = Promise.withResolvers<void>();
    this.running.set(action, work);
    this.begun.push(action);
    return work.promise;
  }

  isInUse(): boolean {
    return false;
  }

  async end(action: string): Promise<void> {
    this.running.get(action)?.resolve();
    await settled();
  }
}

/** Waits until the event loop has run all work that is ready. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

class Stage {
  nowMs = Date.UTC(2026, 0, 1);
  readonly driver = new ScriptedDriver();
  readonly engine = makeEngine({
    store: new Store(),
    clock: { nowMs: () => this.nowMs },
    profile: profiles.seed,
    settings: { ...defaultEngineSettings, operationLatencyMs: { min: latencyMs, max: latencyMs } },
    driver: this.driver,
  });

  constructor() {
    this.engine.reset(fixtureWithoutEndpoints);
  }

  async step(milliseconds: number): Promise<void> {
    this.nowMs += milliseconds;
    this.engine.advance();
    await settled();
  }

  statuses(): readonly string[] {
    const page = { limit: 100, after: undefined };
    return this.engine.operations(projectId, page).map(({ action, status }) => `${action} ${status}`);
  }

  async active(): Promise<string> {
    const { endpoint } = this.engine.createEndpoint(projectId, creation);
    await settled();
    await this.driver.end("start_compute");
    await this.step(latencyMs);
    return endpoint.id;
  }
}

describe("operations with real work", () => {
  test("the planned time has passed, the work has not ended → runs on; the work ends → finished and active", async () => {
    const stage = new Stage();
    const { endpoint } = stage.engine.createEndpoint(projectId, creation);
    await stage.step(10 * latencyMs);
    expect(stage.statuses()).toEqual(["start_compute running"]);
    await stage.driver.end("start_compute");
    expect(stage.statuses()).toEqual(["start_compute finished"]);
    expect(stage.engine.endpoint(projectId, endpoint.id).state).toBe("active");
  });

  test("the work has ended, the planned time has not passed → runs on until then", async () => {
    const stage = new Stage();
    stage.engine.createEndpoint(projectId, creation);
    await settled();
    await stage.driver.end("start_compute");
    expect(stage.statuses()).toEqual(["start_compute running"]);
    await stage.step(latencyMs);
    expect(stage.statuses()).toEqual(["start_compute finished"]);
  });

  test("all records are replaced while work runs, and the same operation begins again → only the new work counts", async () => {
    const driver = new ScriptedDriver();
    const work = new RealWork(driver, () => {});
    const operation = { id: "op-1", action: "start_compute", plannedError: undefined } as OperationRecord;
    work.begin(operation);
    const former = driver.running.get("start_compute");
    work.forgetAll();
    work.begin(operation);
    former?.reject(new Error("the server of the former records"));
    await settled();
    expect(work.outcomeOf(operation)).toBeUndefined();
    await driver.end("start_compute");
    expect(work.outcomeOf(operation)).toEqual({ error: undefined });
  });

  test("a failure is planned → no real work, the operation fails", async () => {
    const stage = new Stage();
    stage.engine.failNext({ action: "start_compute", endpointId: undefined, times: 1, error: "planned" });
    stage.engine.createEndpoint(projectId, creation);
    await stage.step(latencyMs);
    expect(stage.driver.begun).toEqual([]);
    expect(stage.statuses()).toEqual(["start_compute failed"]);
  });

  test("a restart whose suspend is slow → the start begins after the suspend has ended", async () => {
    const stage = new Stage();
    const id = await stage.active();
    stage.engine.restartEndpoint(projectId, id);
    await stage.step(5 * latencyMs);
    expect(stage.statuses().slice(0, 2)).toEqual(["start_compute scheduling", "suspend_compute running"]);
    expect(stage.driver.begun).toEqual(["start_compute", "suspend_compute"]);
    await stage.driver.end("suspend_compute");
    await stage.step(0);
    expect(stage.statuses().slice(0, 2)).toEqual(["start_compute running", "suspend_compute finished"]);
    expect(stage.driver.begun).toEqual(["start_compute", "suspend_compute", "start_compute"]);
    await stage.driver.end("start_compute");
    await stage.step(latencyMs);
    expect(stage.engine.endpoint(projectId, id).state).toBe("active");
  });

  test("the delay passes while real work is late → suspended after the delay that follows the work", async () => {
    const stage = new Stage();
    const id = await stage.active();
    stage.engine.updateEndpoint(projectId, { endpointId: id, changes: { poolerEnabled: true } });
    await stage.step(400_000);
    expect(stage.statuses()[0]).toBe("apply_config running");
    await stage.driver.end("apply_config");
    await stage.step(0);
    expect(stage.statuses().slice(0, 2)).toEqual(["suspend_compute running", "apply_config finished"]);
  });
});
