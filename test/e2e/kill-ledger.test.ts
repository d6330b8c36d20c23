/** Tests that an operator which is killed again and again counts no operation twice. */
import { expect, test } from "vitest";
import { outcomeOf } from "../../src/domain/operation.ts";
import type { OperatorProcess } from "../support/e2e-operator.ts";
import { SandboxProcess, type TestProject } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { countsOf } from "../support/expected-counts.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { waitUntil } from "../support/wait-until.ts";

const isLong = process.env.LONG === "1";
const seeds = Array.from({ length: isLong ? 10 : 1 }, (_, index) => index + 1);
const kills = isLong ? 10 : 5;
const workers = 2;
const names = ["first", "second"] as const;

interface Scene {
  readonly world: E2eWorld;
  readonly sandbox: SandboxProcess;
  readonly random: SeededRandom;
  readonly projects: ReadonlyMap<string, TestProject>;
}

const endpointIdOf = ({ world }: Scene, name: string) => world.resources.get(name)?.status.ownership?.endpointId;

/** Causes an operation, by a change of a person or of another client. */
async function ask(scene: Scene, name: string): Promise<void> {
  const { world, sandbox, random, projects } = scene;
  const project = projects.get(name) as TestProject;
  if (random.below(2) === 0) {
    const units = random.pick([0.25, 0.5, 1]);
    await world.apply(name, project, { type: "ReadWrite", compute: { minUnits: units, maxUnits: units } });
    return;
  }
  const path = `/projects/${project.id}/endpoints/${endpointIdOf(scene, name)}/${random.pick(["restart", "suspend", "start"])}`;
  // While the project is locked, the request is refused and has no effect.
  await sandbox.control.api("POST", path).catch(() => {});
}

/** Kills the operator at a random moment: after up to three changes of a status, or at once. */
async function killSomewhere({ world, random }: Scene, operator: OperatorProcess): Promise<void> {
  const [name, changes] = [random.pick(names), random.below(4)];
  for (let change = 0; change < changes; change += 1) {
    const before = JSON.stringify(world.resources.get(name)?.status);
    const isOther = () => JSON.stringify(world.resources.get(name)?.status) !== before || undefined;
    // If no status changes, the operator is killed now.
    await waitUntil(isOther, { what: "status changes", timeoutMs: 1_000 }).catch(() => {});
  }
  process.kill(operator.pid, "SIGKILL");
  await operator.exited;
}

interface ReconcileLine {
  readonly message: string;
  readonly name: string;
  readonly counted?: number;
}

/** Returns the operator's log lines about reconciles. It writes such a line directly after it has counted. */
function reconcilesOf(operator: OperatorProcess): readonly ReconcileLine[] {
  const lines = operator
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}"));
  return lines.map((line) => JSON.parse(line)).filter(({ message }) => message === "reconciled: the status changed");
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const countedIn = (lines: readonly ReconcileLine[]) => sum(lines.map(({ counted = 0 }) => counted));

/**
 * Returns, for each resource, the number of status writes that took effect without a log line, because the reconcile
 * did not end.
 */
async function interruptedReconciles(
  { world }: Scene,
  lines: readonly ReconcileLine[],
): Promise<ReadonlyMap<string, number>> {
  const writes = (await world.operatorWrites()).filter(
    ({ objectRef, responseStatus }) =>
      objectRef?.resource === "computeendpoints" &&
      objectRef.subresource === "status" &&
      (responseStatus?.code ?? 200) < 300,
  );
  const of = (name: string) =>
    writes.filter(({ objectRef }) => objectRef?.name === name).length -
    lines.filter((line) => line.name === name).length;
  return new Map(names.map((name) => [name, of(name)]));
}

/** Waits until all work has ended, and a later reconcile of every resource has changed nothing. */
async function settle({ world, sandbox, projects }: Scene): Promise<void> {
  const operations = async () =>
    (await Promise.all([...projects.values()].map((project) => sandbox.operations(project)))).flat();
  await waitUntil(
    async () => {
      const before = await operations();
      if (before.some((each) => outcomeOf(each) === "InFlight")) return undefined;
      for (const name of names) {
        const value = `${performance.now()}`;
        await world.annotate(name, "reconcileRequestedAt", value);
        await world.resources.until(name, "a reconcile", ({ status }) => status.lastHandledReconcileAt === value);
      }
      return (await operations()).length === before.length || undefined;
    },
    { what: "everything comes to rest" },
  );
}

test.for(seeds)(
  "seed %i, kill -9 again and again → never counted twice, short by reconciles in progress at most",
  async (seed, { annotate }) => {
    const sandbox = await SandboxProcess.start({ profile: seed % 2 === 0 ? "public" : "seed" });
    try {
      const world = await E2eWorld.start(sandbox, { WORKERS: `${workers}` });
      const projects = new Map(names.map((name) => [name, sandbox.takeProject()]));
      const scene = { world, sandbox, random: createSeededRandom(seed), projects };
      const operators = [await world.startOperator()];
      for (const [name, project] of projects) await world.apply(name, project, { type: "ReadWrite" });
      for (const name of names) await world.untilReady(name);
      for (let round = 0; round < kills; round += 1) {
        for (const name of names) await ask(scene, name);
        await killSomewhere(scene, operators.at(-1) as OperatorProcess);
        for (const name of names) await ask(scene, name);
        operators.push(await world.startOperator());
      }
      await settle(scene);
      const last = operators.at(-1) as OperatorProcess;
      const page = sum([...countsOf(await last.scrape()).values()]);
      expect(page, "the log reports what the counters rose by").toBe(countedIn(reconcilesOf(last)));

      const lines = operators.flatMap(reconcilesOf);
      const interrupted = await interruptedReconciles(scene, lines);
      expect(sum([...interrupted.values()])).toBeLessThanOrEqual(kills * workers);
      for (const [name, project] of projects) {
        const own = (await sandbox.operations(project)).filter(
          (each) => each.endpoint_id === endpointIdOf(scene, name),
        );
        const ended = own.filter((each) => ["Succeeded", "Failed"].includes(outcomeOf(each))).length;
        const counted = countedIn(lines.filter((line) => line.name === name));
        const story = `seed ${seed}, ${name}: ${ended} ended, ${counted} counted, ${interrupted.get(name)} reconciles interrupted`;
        await annotate(story, "measured");
        expect(counted, story).toBeLessThanOrEqual(ended);
        expect(counted === ended || (interrupted.get(name) ?? 0) > 0, story).toBe(true);
        expect(ended, story).toBeGreaterThan(3);
      }
      await last.stop();
    } finally {
      await sandbox.stop();
    }
  },
);
