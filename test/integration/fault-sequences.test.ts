/** Tests list and watch through random sequences of faults. */
import { beforeAll, describe, expect, it } from "vitest";
import { requestFaults, streamFaults } from "../support/fault-proxy/known-faults.ts";
import type { RequestVerb } from "../support/fault-proxy/proxied-request.ts";
import {
  openWatchScene,
  type SceneServer,
  sharedSceneServer,
  type WatchScene,
} from "../support/fault-proxy/watch-scene.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { waitUntil } from "../support/wait-until.ts";

/**
 * Faults and changes in random order. The same seed gives the same steps, but the network may make something else of
 * them. A failure prints the steps. LONG=1 runs more of them.
 */

const isLong = process.env.LONG === "1";
const seeds = Array.from({ length: isLong ? 60 : 4 }, (_, index) => index + 1);
const stepCount = isLong ? 40 : 24;
const names = ["a", "b", "c", "d", "e", "f"];

/** The client's clock runs forty times as fast, so that its long pauses take little time here. */
const haste = 40;
const timing = { inactivityMs: 60_000, openTimeoutMs: 60_000, pageTimeoutMs: 80_000 };

interface Step {
  readonly words: string;
  run(scene: WatchScene): Promise<void>;
}

/**
 * Makes a random change.
 * @param present the names of the existing resources; kept up to date
 */
function drawChange(random: SeededRandom, present: Set<string>): Step {
  const name = random.pick(names);
  if (!present.has(name)) {
    present.add(name);
    return { words: `create ${name}`, run: ({ editor }) => editor.create(name) };
  }
  const kind = random.pick(["update", "update", "recreate", "delete"] as const);
  if (kind === "delete") present.delete(name);
  return { words: `${kind} ${name}`, run: ({ editor }) => editor[kind](name) };
}

function drawStreamFault(random: SeededRandom): Step {
  const [name, fault] = random.pick(Object.entries(streamFaults));
  const waits = random.below(2) === 0;
  return {
    words: `${waits ? "once it is open, " : ""}a watch: ${name}`,
    async run(scene) {
      if (waits) await scene.untilWatching();
      scene.proxy.inject({ match: { verb: "watch" }, fault, times: 1 });
    },
  };
}

function drawRequestFault(random: SeededRandom): Step {
  const [name, fault] = random.pick(Object.entries(requestFaults));
  const verb = random.pick<RequestVerb>(["list", "watch"]);
  const times = 1 + random.below(2);
  // A further fault that brings the client to the place of the first one.
  const provocation = verb === "list" ? streamFaults["ERROR 500"] : streamFaults.cut;
  return {
    words: `${verb}, ${times} times: ${name}`,
    async run({ proxy }) {
      const injected = proxy.inject({ match: { verb }, fault, times });
      proxy.inject({ match: { verb: "watch" }, fault: provocation, times: 1 });
      await waitUntil(() => (injected.bites > 0 ? true : undefined), { what: `${name} has bitten a ${verb}` });
    },
  };
}

function drawSteps(seed: number): readonly Step[] {
  const random = createSeededRandom(seed);
  const present = new Set<string>();
  const draws = [
    () => drawChange(random, present),
    () => drawChange(random, present),
    () => drawStreamFault(random),
    () => drawRequestFault(random),
  ];
  return Array.from({ length: stepCount }, () => random.pick(draws)());
}

let server: SceneServer;

beforeAll(async () => {
  server = await sharedSceneServer();
});

describe.concurrent("faults and changes in any order, then quiet", () => {
  for (const seed of seeds) {
    it(`seed ${seed} → the cache equals a fresh list, no event is missed`, async ({ onTestFinished }) => {
      const scene = await openWatchScene({ server, onTestFinished, haste, timing });
      const steps = drawSteps(seed);
      const story = steps.map(({ words }) => words).join("\n");
      scene.watch.start();
      for (const step of steps) await step.run(scene);
      expect(scene.proxy.bites, story).toBeGreaterThan(stepCount / 8);
      scene.proxy.quiet();
      await scene.untilCaughtUp().catch((cause: unknown) => {
        throw new Error(`never caught up after seed ${seed}:\n${story}`, { cause });
      });
    });
  }
});

it("the same seed → the same steps; another → others", () => {
  const words = (seed: number) => drawSteps(seed).map((step) => step.words);
  expect(words(1)).toEqual(words(1));
  expect(words(1)).not.toEqual(words(2));
});
