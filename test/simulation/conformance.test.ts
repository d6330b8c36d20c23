/** Tests that the simulated control plane answers like the sandbox. */
import { expect, test } from "vitest";
import { startSandbox } from "../../src/sandbox/index.ts";
import { clientOf } from "../contract/control-plane/client-fixture.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { rightControlPlaneClock } from "./control-plane/calendar.ts";
import { fixture, type ProfileName, world as places } from "./control-plane/engine.ts";
import { ControlPlaneServer } from "./control-plane/server.ts";
import { type ControlPlaneCall, type SentCall, simulatedCall } from "./control-plane/sim-control-plane.ts";
import { noFault } from "./faults/fault.ts";
import { Network } from "./network/exchange.ts";
import { type ControlPlane, controlPlaneOf } from "./ports.ts";
import { Process } from "./replica/process.ts";
import { Machine } from "./time/machine.ts";
import { VirtualTime } from "./time/virtual-time.ts";

const requests = 60;
const seed = 11;
const latencyMs = 700;

/** One call as data, so that the model and the sandbox get the same call. */
type Call = (controlPlane: ControlPlane, known: Known) => Promise<unknown>;

/** The ids that answers have named. They are the same on both sides, because both use one seed. */
interface Known {
  readonly endpointIds: readonly string[];
  readonly operationIds: readonly string[];
}

function randomCall(random: SeededRandom): Call {
  const branchId = random.pick([...places.branches, "br-that-is-not-there"]);
  const projectId = random.next() < 0.05 ? "no-such-project" : random.pick([places.project, places.freeProject]);
  const units = random.pick([0.25, 0.5, 1, 2, 16]);
  const type = random.pick(["ReadWrite", "ReadOnly"] as const);
  const seconds = random.pick([0, 5, 60, -1]);
  const at = random.below(100);
  const endpointOf = ({ endpointIds }: Known) => endpointIds[at % (endpointIds.length + 1)] ?? "ep-none";
  const operationOf = ({ operationIds }: Known) => operationIds[at % (operationIds.length + 1)] ?? "none";
  const size = { minUnits: units, maxUnits: units };
  return random.pick<Call>([
    (port) => port.createEndpoint(projectId, { branchId, type, name: `name-${at}`, ...size }),
    (port) => port.createEndpoint(projectId, { branchId, type, name: "n", suspendTimeoutSeconds: seconds }),
    (port, known) => port.updateEndpoint(places.project, endpointOf(known), size),
    (port, known) => port.updateEndpoint(places.project, endpointOf(known), { branchId }),
    (port, known) =>
      port.updateEndpoint(places.project, endpointOf(known), { pgSettings: { work_mem: "4MB" }, disabled: at > 80 }),
    (port, known) => port.deleteEndpoint(places.project, endpointOf(known)),
    (port, known) => port.getEndpoint(projectId, endpointOf(known)),
    (port, known) => port.getOperation(places.project, operationOf(known)),
    (port) => port.listEndpoints(projectId),
    async (port) => (await port.listOperations(projectId, { limit: 100 })).operations,
  ]);
}

/** Returns the result of a call: its value, or the reason, effect and subject of its error. */
async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return (await call) ?? { isNothing: true };
  } catch (error) {
    const { reason, effect, subject } = error as { reason?: string; effect?: string; subject?: string };
    return { reason, effect, subject };
  }
}

function knownFrom(outcome: unknown, known: Known): Known {
  const { endpoint, operations = [] } = outcome as {
    readonly endpoint?: { readonly id: string };
    readonly operations?: readonly { readonly id: string }[];
  };
  return {
    endpointIds: endpoint === undefined ? known.endpointIds : [...known.endpointIds, endpoint.id],
    operationIds: [...known.operationIds, ...operations.map(({ id }) => id)],
  };
}

function createModel(profile: ProfileName, epochMs: number) {
  const time = new VirtualTime();
  const operationLatencyMs = { min: latencyMs, max: latencyMs };
  const trueNowMs = () => time.nowMs();
  const server = new ControlPlaneServer({
    profile,
    seed,
    epochMs,
    trueNowMs,
    clock: rightControlPlaneClock,
    operationLatencyMs,
  });
  const process = new Process(new Machine("model", time), "model", () => {});
  const planned = { replica: "model", server: "control plane", what: "", isEffect: false, isRead: true } as const;
  const send = simulatedCall({
    process,
    server,
    network: new Network(time),
    fence: { mayStartEffect: () => true },
    faultOf: () => noFault,
    latencyMs: () => 0,
    tap: {
      sent: (call: ControlPlaneCall): SentCall => ({ call, process, planned, creator: { by: "Person" }, sentAtMs: 0 }),
      applied() {},
      settled() {},
    },
  });
  const controlPlane = controlPlaneOf({ serviceUrl: "https://model/v2", call: (request) => send(request, "key") });
  const ask = async (call: Call, known: Known): Promise<unknown> => {
    const outcome = outcomeOf(call(controlPlane, known));
    await time.run(time.nowMs(), () => false);
    return await outcome;
  };
  return { ask, pass: (milliseconds: number) => time.run(time.nowMs() + milliseconds, () => false) };
}

test.for(["seed", "public"] as const)(
  "random calls of profile %s → the model answers what the sandbox answers over HTTP",
  async (profile) => {
    const settings = { operationLatencyMs: latencyMs, rateLimit: undefined, clock: "stepped" } as const;
    const sandbox = await startSandbox({ profile, seed, fixture, apiKey: "a-key-of-the-test", ...settings });
    try {
      await using real = clientOf(sandbox.url, { key: "a-key-of-the-test" });
      const nowOf = async () =>
        ((await (await fetch(`${sandbox.controlUrl}/clock`)).json()) as { readonly now: string }).now;
      const model = createModel(profile, Date.parse(await nowOf()));
      const random = createSeededRandom(5);
      let known: Known = { endpointIds: [], operationIds: [] };
      let successes = 0;
      for (let at = 0; at < requests; at += 1) {
        const call = randomCall(random);
        const [want, found] = [await outcomeOf(call(real, known)), await model.ask(call, known)];
        expect(found, `call ${at}`).toEqual(want);
        if (!("reason" in (want as object))) successes += 1;
        known = knownFrom(want, known);
        const passedMs = random.pick([0, 0, 300, 1_000, 5_000]);
        const body = JSON.stringify({ milliseconds: passedMs });
        await fetch(`${sandbox.controlUrl}/clock/advance`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body,
        });
        await model.pass(passedMs);
      }
      expect(successes).toBeGreaterThan(requests / 3);
    } finally {
      await sandbox.stop();
    }
  },
);
