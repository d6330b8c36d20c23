/** Tests that a permanent fault costs the API server only a few requests a minute. */
import type { ServerResponse } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { createConnection, type KubernetesConnection } from "../../../src/kubernetes/http/connection.ts";
import { KindWatch } from "../../../src/kubernetes/kind-watch.ts";
import { computeEndpointKind } from "../../../src/kubernetes/store/resource-kinds.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";
import { FaultProxy } from "../../support/fault-proxy/fault-proxy.ts";
import type { FaultRule } from "../../support/fault-proxy/injected-fault.ts";
import { errorEvent, refuse, requestFaults, streamFaults } from "../../support/fault-proxy/known-faults.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { countingCredentials, sendJson, startFakeApiServer } from "./fake-api-server.ts";

/**
 * What a permanent fault costs the API server, on simulated time. The clock moves only when nothing else happens, so a
 * storm would be an endless number of requests at one moment. The tests also check what happens after the fault has
 * ended.
 */

const minutes = 10;
const stormAt = 200;

function stored(name: string, version: number) {
  return {
    metadata: { namespace: "n", name, uid: `uid-${name}`, resourceVersion: String(version), generation: 1 },
    spec: { projectId: "p", branchId: "b", type: "ReadWrite" },
  };
}

/**
 * Wraps a connection. It counts the calls that wait for an answer, the open streams, and the bytes that were read from
 * streams.
 */
function observed(connection: KubernetesConnection) {
  const state = { waiting: 0, openStreams: 0, streamBytes: 0 };
  const counted = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    state.waiting += 1;
    return await answer.finally(() => {
      state.waiting -= 1;
    });
  };
  async function* read(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    state.openStreams += 1;
    try {
      for await (const chunk of chunks) {
        bytes += chunk.length;
        state.streamBytes += chunk.length;
        yield chunk;
      }
    } finally {
      state.openStreams -= 1;
      state.streamBytes -= bytes;
    }
  }
  const wrapped: KubernetesConnection = {
    ...{ namespace: connection.namespace, close: () => connection.close() },
    request: (call) => counted(connection.request(call)),
    openStream: async (call) => read(await counted(connection.openStream(call))),
  };
  return { state, wrapped };
}

/** Starts a watch of all namespaces through a proxy with these faults. The server has one resource, and later two. */
async function startBehind(rules: readonly FaultRule[]) {
  const clock = new FakeClock();
  const server = await startFakeApiServer();
  onTestFinished(() => server.stop());
  const proxy = await FaultProxy.start({ target: server.url, clock });
  onTestFinished(() => proxy.stop());
  let items = [stored("early", 4)];
  const watches = new Set<ServerResponse>();
  server.answer((request, response) => {
    const version = String(items.length * 10);
    if (request.query.watch === undefined) {
      sendJson(response, 200, { metadata: { resourceVersion: version }, items });
      return;
    }
    response.writeHead(200);
    response.flushHeaders();
    watches.add(response);
    const bookmark = { metadata: { resourceVersion: version } };
    const events = [...items.map((object) => ({ type: "ADDED", object })), { type: "BOOKMARK", object: bookmark }];
    response.write(events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  });
  const appear = () => {
    items = [...items, stored("late", 15)];
    for (const each of watches) each.write(`${JSON.stringify({ type: "ADDED", object: stored("late", 15) })}\n`);
  };
  const { state, wrapped } = observed(
    createConnection({ credentials: countingCredentials(proxy.url), clock, userAgent: "agent/1" }),
  );
  const injected = rules.map((rule) => proxy.inject(rule));
  const watch = new KindWatch(computeEndpointKind, {
    ...{ connection: wrapped, namespaces: [], onChange() {}, fence: { mayStartEffect: () => true } },
    ...{ clock, logger: quietLogger, random: () => 0 },
  });
  onTestFinished(async () => {
    await watch.stop();
    await wrapped.close();
  });
  const isQuiet = () => {
    const { held, openStreams, streamBytes } = proxy.stats();
    // The proxy may hold a watch after its headers were sent. Then the watch is open for the client, and not yet for
    // the proxy.
    return state.waiting + state.openStreams === held + openStreams && state.streamBytes === streamBytes;
  };
  return { clock, proxy, watch, appear, injected, isQuiet };
}

type Scene = Awaited<ReturnType<typeof startBehind>>;

/** Waits until nothing more happens at this simulated time. */
async function settle({ proxy, isQuiet }: Scene): Promise<void> {
  const before = proxy.requests.length;
  const deadlineMs = performance.now() + 60_000;
  for (await settlePromises(); !isQuiet(); await settlePromises()) {
    expect(proxy.requests.length - before, "requests in no time").toBeLessThan(stormAt);
    expect(performance.now(), "something is still on its way").toBeLessThan(deadlineMs);
  }
}

async function drive(scene: Scene, durationMs: number): Promise<void> {
  const { clock } = scene;
  const endMs = clock.monotonicMs() + durationMs;
  for (await settle(scene); clock.monotonicMs() < endMs; await settle(scene)) {
    await clock.advance(Math.min(clock.nextTimerInMs ?? durationMs, endMs - clock.monotonicMs()));
  }
}

/** Returns the number of requests in each minute, from the first minute on. */
function perMinute({ proxy }: Scene, startMs: number): readonly number[] {
  const minuteOf = ({ atMs }: { readonly atMs: number }) => Math.floor((atMs - startMs) / 60_000);
  return Array.from(
    { length: minutes },
    (_, minute) => proxy.requests.filter((each) => minuteOf(each) === minute).length,
  );
}

const later = { afterMs: 6_000 };
const anHour = 3_600;
const cases: readonly (readonly [name: string, rules: readonly FaultRule[]])[] = [
  ...Object.entries(requestFaults).flatMap(([name, fault]) =>
    (["list", "watch"] as const).map((verb) => [`every ${verb}: ${name}`, [{ match: { verb }, fault }]] as const),
  ),
  ...Object.entries(streamFaults).map(
    ([name, fault]) => [`every watch: ${name}`, [{ match: { verb: "watch" }, fault }]] as const,
  ),
  ["every list: 429, again in an hour", [{ match: { verb: "list" }, fault: refuse(429, "TooManyRequests", anHour) }]],
  ["every watch: 429, again in an hour", [{ match: { verb: "watch" }, fault: refuse(429, "TooManyRequests", anHour) }]],
  [
    "every watch: ERROR 429, again in an hour",
    [
      {
        match: { verb: "watch" },
        fault: errorEvent({ code: 429, reason: "TooManyRequests", retryAfterSeconds: anHour }),
      },
    ],
  ],
  ["every watch: cut after 6 s", [{ match: { verb: "watch" }, fault: { kind: "Cut", ...later } }]],
  ["every watch: closed after 6 s", [{ match: { verb: "watch" }, fault: { kind: "End", ...later } }]],
  [
    "every watch: ERROR 500 after 6 s",
    [{ match: { verb: "watch" }, fault: { ...errorEvent({ code: 500, reason: "InternalError" }), ...later } }],
  ],
  ["everything: cut before the answer", [{ match: {}, fault: requestFaults["cut before the answer"] }]],
];

describe("a fault that stays", () => {
  it.each(cases)(
    "%s → a few requests a minute, for ever; gone → caught up within two minutes",
    async (_name, rules) => {
      const scene = await startBehind(rules);
      const startMs = scene.clock.monotonicMs();
      scene.watch.start();
      await drive(scene, minutes * 60_000);
      const requests = perMinute(scene, startMs);
      expect(Math.max(...requests), requests.join(" ")).toBeLessThanOrEqual(20);
      expect(Math.max(...requests.slice(5)), requests.join(" ")).toBeLessThanOrEqual(10);
      for (let minute = 0; minute + 1 < minutes; minute += 1) {
        expect(
          (requests[minute] ?? 0) + (requests[minute + 1] ?? 0),
          `it goes on trying: ${requests.join(" ")}`,
        ).toBeGreaterThan(0);
      }
      for (const { bites } of scene.injected) expect(bites, "the fault bites").toBeGreaterThan(0);
      scene.proxy.quiet();
      scene.appear();
      await drive(scene, 120_000);
      expect(scene.watch.store.get({ namespace: "n", name: "late" })).toBeDefined();
      expect(scene.watch.stats()).toMatchObject({ hasSynced: true, isWatching: true, resources: 2 });
    },
  );
});
