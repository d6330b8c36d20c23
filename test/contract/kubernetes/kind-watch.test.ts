/** Tests the watch of a kind over HTTP: pages that are too long, and rights that are removed and given back. */
import { expect, onTestFinished, test } from "vitest";
import type { LogFields } from "../../../src/domain/logger.ts";
import { createConnection } from "../../../src/kubernetes/http/connection.ts";
import { KindWatch } from "../../../src/kubernetes/kind-watch.ts";
import { computeEndpointKind } from "../../../src/kubernetes/store/resource-kinds.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { countingCredentials, type ReceivedRequest, sendJson, startFakeApiServer } from "./fake-api-server.ts";

const maxBodyBytes = 10_000;

function stored(namespace: string, name: string, annotationBytes = 0) {
  const annotations = { large: "x".repeat(annotationBytes) };
  return {
    metadata: { namespace, name, uid: `uid-${namespace}-${name}`, resourceVersion: "4", generation: 1, annotations },
    spec: { projectId: "p", branchId: "b", type: "ReadWrite" },
  };
}

type Stored = ReturnType<typeof stored>;

/** Answers a request for a list or a watch. */
type Answer = (request: ReceivedRequest) => { readonly status: number; readonly body: unknown };

/** Starts a watch. The server's own watches stay open and send nothing. */
async function startWatch(answer: Answer, namespaces: readonly string[] = []) {
  const clock = new FakeClock();
  const server = await startFakeApiServer();
  onTestFinished(() => server.stop());
  server.answer((request, response) => {
    const { status, body } = answer(request);
    if (status === 200 && request.query.watch !== undefined) response.writeHead(200).flushHeaders();
    else sendJson(response, status, body);
  });
  const credentials = countingCredentials(server.url);
  const connection = createConnection({ credentials, clock, userAgent: "agent/1", maxBodyBytes });
  const [reported, errors]: [string[], string[]] = [[], []];
  const warn = ({ err }: LogFields) => void errors.push(err instanceof Error ? err.message : "");
  const watch = new KindWatch(computeEndpointKind, {
    connection,
    namespaces,
    fence: { mayStartEffect: () => true },
    onChange: ({ namespace }) => void reported.push(namespace),
    clock,
    logger: { ...quietLogger, warn },
    random: () => 0,
  });
  onTestFinished(async () => {
    await watch.stop();
    await connection.close();
  });
  watch.start();
  const lists = () => server.requests.filter(({ query }) => query.watch === undefined);
  return { clock, server, reported, errors, watch, lists };
}

/** Makes pages of the size that the client asks for. */
const pagesOf =
  (resources: readonly Stored[]): Answer =>
  ({ query }) => {
    const from = Number(query.continue ?? 0);
    const until = from + Number(query.limit);
    const metadata = { resourceVersion: "10", ...(until < resources.length ? { continue: String(until) } : {}) };
    return { status: 200, body: { metadata, items: resources.slice(from, until) } };
  };

test("pages longer than we are willing to hold → smaller pages, and nothing is missing", async () => {
  const resources = Array.from({ length: 20 }, (_, index) => stored("n", `r${index}`, 2_000));
  const { watch, lists } = await startWatch(pagesOf(resources));
  await waitUntil(() => watch.stats().hasSynced || undefined, { what: "synced", lastSeen: () => lists().length });
  expect([watch.store.list().length, watch.stats().lists]).toEqual([20, 1]);
  const limits = lists().map(({ query }) => Number(query.limit));
  expect(limits.slice(0, 7)).toEqual([250, 125, 62, 31, 15, 7, 3]);
  expect(new Set(limits.slice(7)), "and they stay that small").toEqual(new Set([3]));
});

test("one object alone is too long → a pause and another try, no storm; it shrinks → synced", async () => {
  const resources = [stored("n", "good"), stored("n", "huge", 2 * maxBodyBytes)];
  const { clock, watch, lists } = await startWatch(pagesOf(resources));
  await waitUntil(() => clock.nextTimerInMs === 400 || undefined, { what: "a pause", lastSeen: () => lists().length });
  // Eight requests with smaller and smaller pages, down to one object, return the good object. The ninth request is for
  // the other object.
  expect(lists()).toHaveLength(9);
  expect(watch.stats().hasSynced).toBe(false);
  resources[1] = stored("n", "huge");
  await clock.advance(400);
  await waitUntil(() => watch.stats().hasSynced || undefined, { what: "synced" });
  expect(watch.store.list()).toHaveLength(2);
});

test("one of two namespaces may not be listed → the other one is watched, and the missing one is reported; then both", async () => {
  const forbidden = new Set(["crm"]);
  const answer: Answer = ({ path }) => {
    const namespace = /namespaces\/([^/]+)\//.exec(path)?.[1] ?? "";
    const message = `cannot list in the namespace "${namespace}"`;
    if (forbidden.has(namespace)) return { status: 403, body: { reason: "Forbidden", message } };
    return { status: 200, body: { metadata: { resourceVersion: "10" }, items: [stored(namespace, "orders")] } };
  };
  const { clock, server, reported, errors, watch } = await startWatch(answer, ["shop", "crm", "shop"]);
  await waitUntil(() => (reported.length > 0 && clock.nextTimerInMs === 400) || undefined, {
    what: "one list, one pause",
  });
  expect(reported).toEqual(["shop"]);
  expect(watch.stats()).toMatchObject({ hasSynced: false, unlistedNamespaces: ["crm"] });
  expect(watch.store.list()).toHaveLength(1);
  expect(errors).toEqual(['cannot list ComputeEndpoints of namespace crm: cannot list in the namespace "crm"']);
  forbidden.clear();
  await clock.advance(400);
  await waitUntil(() => watch.stats().isWatching || undefined, { what: "both are watched" });
  expect(watch.stats()).toMatchObject({ hasSynced: true, unlistedNamespaces: [], lists: 2 });
  expect(watch.store.list()).toHaveLength(2);
  expect(reported).toEqual(["shop", "crm"]);
  const paths = new Set(server.requests.map(({ path }) => path));
  expect([...paths].toSorted(), "nothing across namespaces is asked for").toEqual(
    ["crm", "shop"].map((name) => `/apis/endpoint-operator.dev/v1alpha1/namespaces/${name}/computeendpoints`),
  );
});
