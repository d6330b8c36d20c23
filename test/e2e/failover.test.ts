/** Tests that a standby takes over, and that there is never more than one writer. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { isLeader, type Replica, Replicas } from "../support/e2e-replicas.ts";
import { SandboxProcess } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { waitUntil } from "../support/wait-until.ts";

/** The duration of the lease. A standby counts it from the read that shows it the last renewal. */
const leaseMs = 15_000;

let sandbox: SandboxProcess;
beforeAll(async () => {
  sandbox = await SandboxProcess.start({ profile: "seed" });
});
afterAll(() => sandbox?.stop());

const sizes = { before: { minUnits: 0.25, maxUnits: 0.25 }, after: { minUnits: 0.5, maxUnits: 0.5 } };

/**
 * Starts a leader that is never at rest, and a standby.
 * One resource wants a change that the control plane refuses as locked, four times a second. For another one a person
 * asks for a reconcile again and again. So the replica that may write does write, all the time.
 */
async function startPair() {
  const world = await E2eWorld.start(sandbox);
  const replicas = await Replicas.of(world, sandbox);
  const [pushed, asked] = [sandbox.takeProject(), sandbox.takeProject()];
  const leader = await replicas.start("leader");
  await replicas.untilLeads(leader);
  const type = "ReadWrite";
  await world.apply("pushed", pushed, { type, compute: sizes.before });
  await world.apply("asked", asked, { type });
  await Promise.all(["pushed", "asked"].map((name) => world.untilReady(name)));
  const standby = await replicas.start("standby");
  expect(await isLeader(standby.operator), "it is ready, and stands by").toBe(false);
  expect(await standby.operator.scrape()).not.toContain("compute_endpoint_info{");
  const lock = await sandbox.fault(
    { method: "PATCH", project: pushed, tail: "/endpoints/*" },
    { kind: "status", status: 423 },
  );
  await world.apply("pushed", pushed, { type, compute: sizes.after });
  await lock.untilHit(3);
  return { world, replicas, leader, standby, pushed, asked, lock, asking: askForReconciles(world, "asked") };
}

type Pair = Awaited<ReturnType<typeof startPair>>;

/** Asks for one reconcile after the other until it is stopped. */
function askForReconciles(world: E2eWorld, name: string) {
  let isOver = false;
  let answered = 0;
  const run = async () => {
    while (!isOver) {
      const value = randomUUID();
      await world.annotate(name, "reconcileRequestedAt", value);
      const isEchoed = () => world.resources.get(name)?.status.lastHandledReconcileAt === value;
      await waitUntil(() => isOver || isEchoed() || undefined, { what: "the reconcile is echoed" });
      answered += 1;
    }
  };
  const running = run();
  // If it fails, the test fails when it waits for it.
  running.catch(() => {});
  const stop = () => {
    isOver = true;
    return running;
  };
  onTestFinished(() => stop().catch(() => {}));
  return {
    stop,
    async untilAnswered(more: number) {
      const from = answered;
      await waitUntil(() => answered >= from + more || undefined, { what: "reconciles are made" });
    },
  };
}

/** Checks that the standby leads and works. Then the project is unlocked, and every resource becomes Ready. */
async function expectTakenOver(pair: Pair): Promise<void> {
  const { world, replicas, standby, pushed, asked, lock, asking } = pair;
  await replicas.untilLeads(standby);
  await asking.untilAnswered(6);
  await asking.stop();
  await lock.remove();
  await world.resources.until("pushed", "the new size", ({ status }) => status.compute?.maxUnits === 0.5);
  await Promise.all(["pushed", "asked"].map((name) => world.untilReady(name)));
  for (const project of [pushed, asked]) {
    expect(await sandbox.endpointIdsEver(project)).toHaveLength(1);
    expect(await sandbox.requests(project, "POST")).toHaveLength(1);
  }
  await expectOneWriterAtATime(pair, await expectTakenAtOnce(pair));
}

/**
 * Checks that the standby took the Lease at its first or second read after the lease had ended. It reads every two
 * seconds, on a slow machine less often. So this does not compare times of the machine.
 * @returns when it took the Lease
 */
async function expectTakenAtOnce({ replicas, leader, standby }: Pair): Promise<number> {
  const requests = await replicas.leaseRequests();
  const last = requests.findLastIndex(({ by, isWrite }) => by === leader.name && isWrite);
  const later = requests.slice(last + 1).filter(({ by }) => by === standby.name);
  const taken = later.findIndex(({ isWrite }) => isWrite);
  const reads = later.slice(0, taken).map(({ atMs }) => atMs);
  const endMs = (reads[0] ?? Number.NaN) + leaseMs;
  expect(reads.filter((atMs) => atMs >= endMs).length, `reads ${reads} after ${endMs}`).toBeLessThanOrEqual(2);
  return later[taken]?.atMs ?? Number.NaN;
}

/** Checks both logs together: first the leader writes, then the standby, and after that only the standby. */
async function expectOneWriterAtATime(pair: Pair, tookLeaseAtMs: number): Promise<void> {
  const writes = await pair.replicas.writes(pair.pushed, pair.asked);
  const firstWrites = writes.filter(({ writer }, at) => writer !== writes[at - 1]?.writer);
  expect(firstWrites.map(({ writer, what, atMs }) => `${writer}: ${what} ${atMs}`)).toEqual([
    expect.stringMatching(/^leader: /),
    expect.stringMatching(/^standby: /),
  ]);
  expect(firstWrites[1]?.atMs, "nothing before it has the lease").toBeGreaterThanOrEqual(tookLeaseAtMs);
  const perWriter = (name: string) => writes.filter(({ writer }) => writer === name).length;
  expect(Math.min(perWriter("leader"), perWriter("standby")), "both were busy").toBeGreaterThan(5);
}

async function expectEndedAsLost({ operator }: Replica): Promise<void> {
  expect(await operator.exited).toEqual({ code: 1, signal: null });
  const lastLine = operator.output().trim().split("\n").at(-1) ?? "";
  const message = "the process ends and must be started again";
  expect(JSON.parse(lastLine)).toMatchObject({ level: "error", message });
}

test("SIGSTOP for longer than the lease, in the middle of a reconcile → when it wakes it writes nothing and ends", async () => {
  const pair = await startPair();
  const { leader, replicas, standby, asking, pushed } = pair;
  await asking.untilAnswered(3);
  const held = await sandbox.fault({ method: "GET", project: pushed, tail: "/endpoints", times: 1 }, { kind: "hold" });
  await held.untilHolding();
  process.kill(leader.operator.pid, "SIGSTOP");
  await replicas.untilLeads(standby);
  await asking.untilAnswered(2);
  // The answer that the process waited for is there when the process continues.
  await held.remove();
  process.kill(leader.operator.pid, "SIGCONT");
  await expectEndedAsLost(leader);
  await expectTakenOver(pair);
});
