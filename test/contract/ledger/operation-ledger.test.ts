/** Tests by random runs that the operator counts every ended operation exactly once. */
import { test } from "vitest";
import { differences } from "../../support/ledger/expected-counts.ts";
import { adoptForeign, applyResources, sleepThroughMany, takeSteps } from "../../support/ledger/ledger-steps.ts";
import { LedgerWorld } from "../../support/ledger/ledger-world.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";

const only = process.env.LEDGER_SEED;
const runs = process.env.LONG === "1" ? 200 : 6;
const seeds = only === undefined ? Array.from({ length: runs }, (_, index) => index + 1) : [Number(only)];

/**
 * Each seed chooses an order of events: users, other clients, failing operations, lists that lag, a failing control
 * plane, restarts and failovers. LEDGER_SEED=N runs one seed alone. At the end the operator's counts must equal those of
 * the control plane's own log.
 */
test.concurrent.for(seeds)(
  "seed %i, restarts and failovers → counted exactly what ended",
  {
    timeout: 90_000,
  },
  async (seed, { expect, onTestFinished }) => {
    const random = createSeededRandom(seed);
    const world = await LedgerWorld.start(seed % 2 === 0 ? "public" : "seed", seed);
    onTestFinished(() => world.close());
    world.startOperator();
    applyResources(world);
    const taken = [...(await takeSteps(world, random, 15))];
    await adoptForeign(world);
    if (seed % 3 === 0) {
      await sleepThroughMany(world, random);
    }
    taken.push(...(await takeSteps(world, random, 20)));
    await world.settle();
    const [expected, counted] = [await world.expected(), await world.counted()];
    const story = `seed ${seed}, ${world.processes} processes: ${taken.join(", ")}\n${await world.missing()}`;
    expect(differences(expected, counted), story).toEqual([]);
    expect(world.complaints, story).toEqual([]);
    const sum = [...counted.values()].reduce((total, count) => total + count, 0);
    expect(sum, story).toBeGreaterThan(5);
  },
);
