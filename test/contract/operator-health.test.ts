/** Tests that a server that does not answer changes only the probes that it should, and that every key is reconciled. */
import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import type { RunningOperator } from "../../src/wiring/operator.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startRawService } from "./control-plane/raw-service.ts";
import { type FakeApiServer, sendJson, startFakeApiServer } from "./kubernetes/fake-api-server.ts";
import { startOperatorAt } from "./start-operator-at.ts";

/**
 * The whole operator on simulated time, with one worker. The tests check its probes while a server that it calls does
 * not answer.
 */

interface Stored {
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly [field: string]: unknown };
  readonly [part: string]: unknown;
}

const stored = (name: string, finalizers: readonly string[]): Stored => ({
  metadata: { namespace: "n", name, uid: `uid-${name}`, resourceVersion: "4", generation: 1, finalizers },
  spec: { projectId: `project-${name}`, branchId: "b", type: "ReadWrite" },
});

/** Starts an API server with these resources. Its watch stays open and sends nothing. */
function answerFrom(api: FakeApiServer, resources: Map<string, Stored>): void {
  api.answer((request, response: ServerResponse) => {
    const name = /\/computeendpoints\/([^/]+)/.exec(request.path)?.[1] ?? "";
    const resource = resources.get(name);
    if (request.query.watch !== undefined) {
      response.writeHead(200);
      response.flushHeaders();
    } else if (request.method === "GET") {
      sendJson(response, 200, resource ?? { metadata: { resourceVersion: "5" }, items: [...resources.values()] });
    } else if (resource !== undefined) {
      const { status } = request.body as { readonly status?: object };
      const resourceVersion = String(Number(resource.metadata.resourceVersion) + 10);
      resources.set(name, { ...resource, status, metadata: { ...resource.metadata, resourceVersion } });
      sendJson(response, 200, resources.get(name));
    }
  });
}

async function start(items: readonly Stored[]) {
  const clock = new FakeClock();
  const api = await startFakeApiServer();
  const service = await startRawService(() => {});
  const resources = new Map(items.map((item) => [item.metadata.name, item]));
  answerFrom(api, resources);
  const operator = await startOperatorAt(
    { api, service, clock },
    {
      LEADER_ELECTION: "false",
      WORKERS: "1",
      // Only reconciles call the control plane.
      PROJECT_POLL_SECONDS: "3600",
    },
  );
  onTestFinished(async () => {
    await service[Symbol.asyncDispose]();
    await api.stop();
    await operator.stop();
  });
  return { clock, api, service, operator, resources };
}

async function probe({ healthPort }: RunningOperator, path: "/livez" | "/readyz") {
  const response = await fetch(`http://127.0.0.1:${healthPort}${path}`);
  return { status: response.status, body: await response.text() };
}

/**
 * Moves the clock in steps until the condition is true. The steps are small, so that real requests and answers pass in
 * little simulated time, also on a slow machine.
 */
async function advanceUntil(clock: FakeClock, what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const look = async () => {
    if (await isSo()) return true;
    await clock.advance(200);
    return undefined;
  };
  await waitUntil(look, { what, pauseMs: 5 });
}

test("the API server sends nothing for longer than three minutes → not ready, though alive; it is back → ready again", async () => {
  const { clock, api, operator, resources } = await start([]);
  await waitUntil(async () => (await probe(operator, "/readyz")).status === 200 || undefined, { what: "ready" });
  api.answer(() => {});
  await clock.advance(179_000);
  expect((await probe(operator, "/readyz")).status, "for less than that").toBe(200);
  await clock.advance(2_000);
  expect(await probe(operator, "/readyz")).toMatchObject({
    status: 503,
    body: expect.stringContaining("failed watch-fresh: no data from the API server for more than 180 s"),
  });
  expect((await probe(operator, "/livez")).status, "a restart would not help").toBe(200);
  answerFrom(api, resources);
  await advanceUntil(clock, "ready again", async () => (await probe(operator, "/readyz")).status === 200);
});

test("a control plane that never answers, one worker → each reconcile ends in its time, all keys are reconciled, alive", async () => {
  const finalizers = ["endpoint-operator.dev/endpoint"];
  const { clock, service, operator } = await start([stored("a", finalizers), stored("b", finalizers)]);
  const reconciles = () =>
    ["a", "b"].map((name) => service.requests.filter(({ url }) => url.includes(`/project-${name}/`)).length);
  const startMs = clock.monotonicMs();
  await advanceUntil(clock, "reconciles of each", () => Math.min(...reconciles()) >= 3);
  expect(clock.monotonicMs() - startMs).toBeLessThan(120_000);
  expect(await probe(operator, "/livez")).toMatchObject({ status: 200, body: "ok work-queue\nok\n" });
});
