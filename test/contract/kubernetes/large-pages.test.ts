/** Tests lists whose pages are longer than the limit. */
import { expect, onTestFinished, test } from "vitest";
import { createConnection } from "../../../src/kubernetes/http/connection.ts";
import { KindWatch } from "../../../src/kubernetes/kind-watch.ts";
import { computeEndpointKind } from "../../../src/kubernetes/store/resource-kinds.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { countingCredentials, sendJson, startFakeApiServer } from "./fake-api-server.ts";

const maxBodyBytes = 10_000;

function stored(name: string, annotationBytes: number) {
  const annotations = { large: "x".repeat(annotationBytes) };
  return {
    metadata: { namespace: "n", name, uid: `uid-${name}`, resourceVersion: "4", generation: 1, annotations },
    spec: { projectId: "p", branchId: "b", type: "ReadWrite" },
  };
}

/** Starts a watch on a server that has these resources. The server makes pages of the size that the client asks for. */
async function startWatch(resources: ReturnType<typeof stored>[]) {
  const clock = new FakeClock();
  const server = await startFakeApiServer();
  onTestFinished(() => server.stop());
  server.answer(({ query }, response) => {
    if (query.watch !== undefined) {
      response.writeHead(200).flushHeaders();
      return;
    }
    const from = Number(query.continue ?? 0);
    const until = from + Number(query.limit);
    const metadata = { resourceVersion: "10", ...(until < resources.length ? { continue: String(until) } : {}) };
    sendJson(response, 200, { metadata, items: resources.slice(from, until) });
  });
  const credentials = countingCredentials(server.url);
  const connection = createConnection({ credentials, clock, userAgent: "agent/1", maxBodyBytes });
  const watch = new KindWatch(computeEndpointKind, {
    ...{ connection, namespaces: [], onChange() {}, fence: { mayStartEffect: () => true } },
    ...{ clock, logger: quietLogger, random: () => 0 },
  });
  onTestFinished(async () => {
    await watch.stop();
    await connection.close();
  });
  watch.start();
  const lists = () => server.requests.filter(({ query }) => query.watch === undefined);
  return { clock, watch, lists };
}

test("pages longer than we are willing to hold → smaller pages, and nothing is missing", async () => {
  const resources = Array.from({ length: 20 }, (_, index) => stored(`r${index}`, 2_000));
  const { watch, lists } = await startWatch(resources);
  await waitUntil(() => watch.stats().hasSynced || undefined, { what: "synced", lastSeen: () => lists().length });
  expect([watch.store.list().length, watch.stats().lists]).toEqual([20, 1]);
  const limits = lists().map(({ query }) => Number(query.limit));
  expect(limits.slice(0, 7)).toEqual([250, 125, 62, 31, 15, 7, 3]);
  expect(new Set(limits.slice(7)), "and they stay that small").toEqual(new Set([3]));
});

test("one object alone is too long → a pause and another try, no storm; it shrinks → synced", async () => {
  const resources = [stored("good", 10), stored("huge", 2 * maxBodyBytes)];
  const { clock, watch, lists } = await startWatch(resources);
  await waitUntil(() => clock.nextTimerInMs === 400 || undefined, { what: "a pause", lastSeen: () => lists().length });
  // Eight requests with smaller and smaller pages, down to one object, return the good object. The ninth request is for
  // the other object.
  expect(lists()).toHaveLength(9);
  expect(watch.stats().hasSynced).toBe(false);
  resources[1] = stored("huge", 10);
  await clock.advance(400);
  await waitUntil(() => watch.stats().hasSynced || undefined, { what: "synced" });
  expect(watch.store.list()).toHaveLength(2);
});
