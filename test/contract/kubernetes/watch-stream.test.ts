/** Tests list and watch over HTTP. */
import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import { createConnection, type KubernetesConnection } from "../../../src/kubernetes/http/connection.ts";
import { createListWatch, type ListWatch, type WatchEvent } from "../../../src/kubernetes/watch/list-watch.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { countingCredentials, type FakeApiServer, sendJson, startFakeApiServer } from "./fake-api-server.ts";

function stored(name: string, version: number) {
  return {
    apiVersion: "endpoint-operator.dev/v1alpha1",
    kind: "ComputeEndpoint",
    metadata: {
      namespace: "n",
      name,
      uid: `uid-${name}`,
      resourceVersion: String(version),
      annotations: { note: "é😀" },
    },
    spec: { projectId: "p", branchId: "b", type: "ReadWrite" },
  };
}

const line = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;

describe("list and watch over HTTP", () => {
  let server: FakeApiServer;
  let connection: KubernetesConnection;
  let listWatch: ListWatch;

  beforeEach(async () => {
    server = await startFakeApiServer();
    connection = createConnection({
      credentials: countingCredentials(server.url),
      clock: systemClock,
      userAgent: "agent/1",
    });
    listWatch = createListWatch({ connection, path: "/things", what: "things" });
  });

  afterEach(async () => {
    await connection.close();
    await server.stop();
  });

  async function follow(write: (response: ServerResponse) => void, controller?: AbortController) {
    const { signal } = controller ?? new AbortController();
    server.answer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      write(response);
    });
    const onBytes = vi.fn();
    const events: WatchEvent[] = [];
    const error = await (async () => {
      const stream = await listWatch.watch({ resourceVersion: "5", timeoutSeconds: 300, signal, onBytes });
      for await (const event of stream) {
        events.push(event);
        controller?.abort();
      }
    })().catch((caught: unknown) => caught);
    return { events, error, pieces: onBytes.mock.calls.length };
  }

  it("a watch → asks for bookmarks from a version, and ends when the server closes it", async () => {
    const { events, error, pieces } = await follow((response) =>
      response.end(line("ADDED", stored("a", 6)) + line("BOOKMARK", {})),
    );
    expect(error).toBeUndefined();
    expect(pieces, "signs of life").toBeGreaterThan(0);
    expect(events.map((event) => event.type)).toEqual(["ADDED", "BOOKMARK"]);
    expect(server.requests[0]?.query).toEqual({
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: "5",
      timeoutSeconds: "300",
    });
  });

  for (const [name, text] of [
    ["a stream that ends in the middle of a line", '{"type":"ADDED","obj'],
    ["a line that is no JSON", "<html>\n"],
    ["a line without a type", '{"object":{}}\n'],
    ["a line of null", "null\n"],
  ] as const) {
    it(`${name} → the events before it, then UnreadableAnswer`, async () => {
      const { events, error } = await follow((response) => response.end(line("ADDED", stored("a", 6)) + text));
      expect(events).toHaveLength(1);
      expect(error).toMatchObject({
        reason: "UnreadableAnswer",
        message: "cannot watch things: a line of it cannot be read",
      });
    });
  }

  it("a connection cut in the middle of a line → Unavailable", async () => {
    const { events, error } = await follow((response) => {
      response.write(`${line("ADDED", stored("a", 6))}{"type":`, () => setImmediate(() => response.destroy()));
    });
    expect(events).toHaveLength(1);
    expect(error).toMatchObject({ reason: "Unavailable" });
  });

  it("410 on opening → Expired", async () => {
    server.answer((_request, response) => sendJson(response, 410, { kind: "Status", reason: "Expired" }));
    const request = { resourceVersion: "5", timeoutSeconds: 300, signal: new AbortController().signal, onBytes() {} };
    await expect(listWatch.watch(request)).rejects.toMatchObject({ reason: "Expired" });
  });

  it("given up in the middle → ends, and the server sees it go", async () => {
    const controller = new AbortController();
    const closed = Promise.withResolvers<void>();
    const { events, error } = await follow((response) => {
      response.on("close", closed.resolve);
      response.write(line("ADDED", stored("a", 6)));
    }, controller);
    expect(events).toHaveLength(1);
    expect(error).toBeInstanceOf(KubernetesError);
    await closed.promise;
  });

  it("a list → its items and versions; an empty token is the last page", async () => {
    server.answer((_request, response) =>
      sendJson(response, 200, { metadata: { resourceVersion: "9", continue: "" }, items: [{}] }),
    );
    const page = await listWatch.list({ limit: 3, continueToken: "t" }, new AbortController().signal);
    expect(page).toEqual({ items: [{}], resourceVersion: "9", continueToken: undefined });
    expect(server.requests[0]?.query).toEqual({ limit: "3", continue: "t" });
  });

  for (const body of [{ items: null, metadata: { resourceVersion: "9" } }, { items: [], metadata: {} }, null]) {
    it(`${JSON.stringify(body)} in place of a list → UnreadableAnswer, not an empty list`, async () => {
      server.answer((_request, response) => sendJson(response, 200, body));
      const pending = listWatch.list({ limit: 3, continueToken: undefined }, new AbortController().signal);
      await expect(pending).rejects.toMatchObject({ reason: "UnreadableAnswer" });
    });
  }
});
