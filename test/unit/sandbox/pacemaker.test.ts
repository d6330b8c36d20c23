import { expect, onTestFinished, test, vi } from "vitest";
import { SandboxClock } from "../../../src/sandbox/clock.ts";
import { Engine } from "../../../src/sandbox/engine/engine.ts";
import { profiles } from "../../../src/sandbox/engine/profile.ts";
import { defaultEngineSettings } from "../../../src/sandbox/engine/settings.ts";
import { defaultFixture } from "../../../src/sandbox/fixture.ts";
import { Pacemaker } from "../../../src/sandbox/pacemaker.ts";
import { MemoryStore } from "../../../src/sandbox/storage/memory-store.ts";

test("something falls due and nobody asks → it is carried out", async () => {
  const clock = new SandboxClock();
  const settings = { ...defaultEngineSettings, operationLatencyMs: { min: 20, max: 20 } };
  const engine = new Engine({ store: new MemoryStore(), clock, profile: profiles.seed, settings });
  engine.reset(defaultFixture);
  const pacemaker = new Pacemaker(engine, clock, (error) => expect.fail(String(error)));
  onTestFinished(() => pacemaker.stop());
  engine.createEndpoint("green-fox-123456", { branchId: "br-quiet-sun-123456", type: "read_write" });
  const firstDueMs = engine.nextDueMs();
  pacemaker.look();
  // Only `advance` moves what is due next, and nothing else calls it here.
  await vi.waitFor(() => expect(engine.nextDueMs()).toBeGreaterThan(firstDueMs ?? Number.NaN), { interval: 5 });
});
