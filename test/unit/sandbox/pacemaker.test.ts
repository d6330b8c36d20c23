/** Tests that due work is carried out without a request. */
import { expect, onTestFinished, test, vi } from "vitest";
import { SandboxClock } from "../../../src/sandbox/engine/clock.ts";
import { type Engine, makeEngine } from "../../../src/sandbox/engine/engine.ts";
import { fixtureWithoutEndpoints } from "../../../src/sandbox/engine/fixture.ts";
import { Pacemaker } from "../../../src/sandbox/engine/pacemaker.ts";
import { profiles } from "../../../src/sandbox/engine/profile.ts";
import { defaultEngineSettings } from "../../../src/sandbox/engine/settings.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";

const latencyMs = 20;

function paced(fixture = fixtureWithoutEndpoints) {
  const clock = new SandboxClock();
  const settings = { ...defaultEngineSettings, operationLatencyMs: { min: latencyMs, max: latencyMs } };
  const engine = makeEngine({ store: new Store(), clock, profile: profiles.seed, settings });
  engine.reset(fixture);
  const pacemaker = new Pacemaker(engine, clock, (error) => expect.fail(String(error)));
  onTestFinished(() => pacemaker.stop());
  return { engine, pacemaker };
}

/** Only `advance` changes what is due next, and here only the pacemaker calls it. */
async function untilCarriedOut(engine: Engine): Promise<void> {
  const firstDueMs = engine.nextDueMs() ?? Number.NaN;
  await vi.waitFor(() => expect(engine.nextDueMs()).toBeGreaterThan(firstDueMs), { interval: 5 });
}

const creation = { branchId: "br-quiet-sun-123456", type: "read_write" } as const;

test("something falls due without a request → it is carried out", async () => {
  const { engine, pacemaker } = paced();
  engine.createEndpoint("green-fox-123456", creation);
  pacemaker.look();
  await untilCarriedOut(engine);
});

test("something falls due sooner than what was waited for → it is carried out in its time", async () => {
  const { engine, pacemaker } = paced();
  engine.createEndpoint("green-fox-123456", creation);
  pacemaker.look();
  await untilCarriedOut(engine);
  pacemaker.look();
  expect(engine.nextDueMs()).toBeGreaterThan(Date.now() + 200_000);
  engine.createEndpoint("green-fox-123456", { ...creation, type: "read_only" });
  pacemaker.look();
  await untilCarriedOut(engine);
});

test("what was waited for is gone, and something later has come → that is carried out in its time", async () => {
  const { engine, pacemaker } = paced();
  engine.createEndpoint("green-fox-123456", creation);
  pacemaker.look();
  engine.reset(fixtureWithoutEndpoints);
  engine.createEndpoint("green-fox-123456", creation);
  pacemaker.look();
  await untilCarriedOut(engine);
});
