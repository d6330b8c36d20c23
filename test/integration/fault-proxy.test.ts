/** Tests list and watch through one fault after the other. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Fault } from "../support/fault-proxy/fault.ts";
import type { FaultRule } from "../support/fault-proxy/injected-fault.ts";
import { errorEvent, requestFaults, streamFaults } from "../support/fault-proxy/known-faults.ts";
import {
  openWatchScene,
  type SceneServer,
  sharedSceneServer,
  type WatchScene,
} from "../support/fault-proxy/watch-scene.ts";
import { waitUntil } from "../support/wait-until.ts";

/**
 * The operator's list and watch against the real API server. One fault comes after the other, while another client
 * changes resources. The client's clock runs ten times as fast.
 */

/** Makes every kind of change to resources. */
async function makeChanges({ editor }: WatchScene, round: number): Promise<void> {
  await editor.create(`created-${round}`);
  await editor.update("updated");
  await editor.recreate("recreated");
  await editor.delete(`deleted-${round}`);
}

const cutWatch: FaultRule = { match: { verb: "watch" }, fault: streamFaults.cut, times: 1 };
const endWithError: FaultRule = {
  match: { verb: "watch" },
  fault: errorEvent({ code: 410, reason: "Expired" }),
  times: 1,
};

interface Case {
  readonly name: string;
  readonly rule: FaultRule;
  /** A further fault that brings the client to the place of the first one. */
  readonly provoke?: FaultRule;
}

const all = (faults: Readonly<Record<string, Fault>>) => Object.entries(faults);
const cases: readonly Case[] = [
  ...all(streamFaults).map(([name, fault]) => ({
    name: `an open watch: ${name}`,
    rule: { match: { verb: "watch" }, fault, times: 1 } as const,
  })),
  ...all(requestFaults).map(([name, fault]) => ({
    name: `opening a watch: ${name}`,
    // A watch that opens late is still open, so there is no second attempt.
    rule: { match: { verb: "watch" }, fault, times: fault.kind === "Delay" ? 1 : 2 } as const,
    provoke: cutWatch,
  })),
  ...all(requestFaults).map(([name, fault]) => ({
    name: `a page of a list: ${name}`,
    rule: { match: { verb: "list" }, fault, times: 2 } as const,
    provoke: endWithError,
  })),
];

let server: SceneServer;

beforeAll(async () => {
  server = await sharedSceneServer();
});

/**
 * The client notices these faults only by silence. For all other faults the detection of silence is off, so that it
 * cannot repair what a watch has missed.
 */
const sendsNothing = /half-open|opening a watch: never finished/;
const noticesNoSilence = { inactivityMs: 24 * 3_600_000 };

describe.concurrent("one fault, then quiet", () => {
  for (const { name, rule, provoke } of cases) {
    it(`${name} → the cache equals a fresh list, no event is missed`, async ({ onTestFinished }) => {
      const timing = sendsNothing.test(name) ? {} : noticesNoSilence;
      const scene = await openWatchScene({ server, onTestFinished, timing });
      const { proxy, editor, watch } = scene;
      for (const each of ["updated", "recreated", "deleted-1", "deleted-2", "untouched"]) await editor.create(each);
      watch.start();
      await scene.untilWatching();
      // So there is a change that can be reported again.
      await editor.update("untouched");
      await scene.untilEqual();
      const injected = proxy.inject(rule);
      const provoked = provoke && proxy.inject(provoke);
      await makeChanges(scene, 1);
      const isBitten = () => (injected.bites === rule.times ? true : undefined);
      await waitUntil(isBitten, { what: "the fault has bitten", lastSeen: () => [injected.bites, provoked?.bites] });
      await makeChanges(scene, 2);
      proxy.quiet();
      await scene.untilCaughtUp();
    });
  }
});

it("behind TLS, a cut is a reset and no orderly end; many watches → a connection or two, not one for each", async (context) => {
  const scene = await openWatchScene({ server, onTestFinished: context.onTestFinished });
  const { proxy, watch } = scene;
  proxy.inject({ match: { verb: "watch" }, fault: { kind: "End", afterMs: 6_000 }, times: 5 });
  watch.start();
  const isThroughWithIt = () => (watch.stats().watches > 5 ? true : undefined);
  await waitUntil(isThroughWithIt, { what: "five watches have ended", lastSeen: () => watch.stats() });
  expect(proxy.stats().connections).toBeLessThanOrEqual(2);
  proxy.inject({ match: { verb: "get" }, fault: requestFaults["cut before the answer"] });
  const read = watch.store.read({ namespace: "default", name: "any" });
  await expect(read).rejects.toMatchObject({ message: expect.stringContaining("(ECONNRESET)") });
});
