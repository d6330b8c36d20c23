/** Tests that each fault of the fault proxy has its effect. */
import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Fault } from "../../support/fault-proxy/fault.ts";
import { FaultProxy } from "../../support/fault-proxy/fault-proxy.ts";
import { bookmark, errorEvent, requestFaults, streamFaults } from "../../support/fault-proxy/known-faults.ts";
import { parseProxiedRequest } from "../../support/fault-proxy/proxied-request.ts";
import { type FakeApiServer, sendJson, startFakeApiServer } from "./fake-api-server.ts";

/**
 * Each fault must have an effect, and the effect that its name says. With a proxy that does nothing, every test behind
 * the proxy would pass.
 */

const list = "/apis/endpoint-operator.dev/v1alpha1/computeendpoints";
const watch = `${list}?watch=true`;
const event = (type: string, name: string) => JSON.stringify({ type, object: { metadata: { name } } });

/** What a client has received so far for one request. */
interface Heard {
  status: number | undefined;
  text: string;
  /** "Open" until the answer ends. If the connection breaks, the error of the socket. */
  end: string;
  leave(): void;
}

let server: FakeApiServer;
let proxy: FaultProxy;
/** Sends a line on every watch that was ever opened. */
let emit: (line: string) => void;

beforeEach(async () => {
  server = await startFakeApiServer();
  proxy = await FaultProxy.start({ target: server.url });
  const watches: ServerResponse[] = [];
  emit = (line) => {
    for (const each of watches) each.write(`${line}\n`);
  };
  server.answer((request, response) => {
    if (request.query.watch === undefined) return sendJson(response, 200, { items: ["a", "b"] });
    response.writeHead(200);
    response.flushHeaders();
    return watches.push(response);
  });
});

afterEach(async () => {
  await proxy.stop();
  await server.stop();
});

function ask(path: string, method = "GET"): Heard {
  const outgoing = httpRequest(`${proxy.url}${path}`, { method, agent: false, headers: { authorization: "Bearer t" } });
  const heard: Heard = { status: undefined, text: "", end: "Open", leave: () => void outgoing.destroy() };
  const broke = (error: NodeJS.ErrnoException) => {
    heard.end = error.code ?? error.message;
  };
  outgoing.on("error", broke);
  outgoing.on("response", (answer: IncomingMessage) => {
    heard.status = answer.statusCode;
    answer.setEncoding("utf8");
    answer.on("error", broke);
    answer.on("data", (chunk: string) => {
      heard.text += chunk;
    });
    answer.on("end", () => {
      heard.end = "Ended";
    });
  });
  outgoing.end();
  return heard;
}

const until = (what: string, isSo: () => boolean) =>
  vi.waitFor(() => expect(isSo(), what).toBe(true), { timeout: 60_000, interval: 2 });

async function answerTo(path: string, method?: string): Promise<Heard> {
  const heard = ask(path, method);
  await until("it has an end", () => heard.end !== "Open");
  return heard;
}

async function openWatch(): Promise<Heard> {
  const heard = ask(watch);
  await until("the watch is open", () => heard.status === 200 && proxy.stats().openStreams === 1);
  return heard;
}

describe("no fault", () => {
  it("a call → handed on with the client's credentials, noted", async () => {
    expect(await answerTo(list)).toMatchObject({ status: 200, text: '{"items":["a","b"]}', end: "Ended" });
    expect(server.requests[0]?.headers.authorization).toBe("Bearer t");
    expect(proxy.requests).toMatchObject([{ verb: "list", resource: "computeendpoints", url: list }]);
  });

  it("a watch → line by line; the client leaves → the server sees it go", async () => {
    const heard = await openWatch();
    emit(event("ADDED", "a"));
    await until("the line", () => heard.text === `${event("ADDED", "a")}\n`);
    heard.leave();
    await until("no stream is left", () => proxy.stats().openStreams === 0);
  });

  it.each([
    ["GET", "/api/v1/namespaces/kube-system", "get", "namespaces", ""],
    ["GET", "/api/v1/namespaces/n/pods", "list", "pods", ""],
    ["GET", "/apis/g.dev/v1/computeendpoints?watch=true", "watch", "computeendpoints", ""],
    ["GET", "/apis/g.dev/v1/namespaces/n/computeendpoints?limit=5", "list", "computeendpoints", ""],
    ["PATCH", "/apis/g.dev/v1/namespaces/n/computeendpoints/a/status", "patch", "computeendpoints", "status"],
    ["PUT", "/apis/coordination.k8s.io/v1/namespaces/n/leases/l", "update", "leases", ""],
    ["POST", "/apis/events.k8s.io/v1/namespaces/n/events", "create", "events", ""],
    ["DELETE", "/apis/g.dev/v1/namespaces/n/computeendpoints/a", "delete", "computeendpoints", ""],
    ["GET", "/readyz", "list", "", ""],
  ])("%s %s → %s of %s %s", (method, url, verb, resource, subresource) => {
    expect(parseProxiedRequest(method, url)).toEqual({ verb, resource, subresource, url });
  });
});

describe("faults of requests", () => {
  const outcomes: Readonly<Record<keyof typeof requestFaults, { heard: Partial<Heard>; reachesServer: boolean }>> = {
    "cut before the answer": { heard: { status: undefined, end: "ECONNRESET" }, reachesServer: false },
    "the answer is lost": { heard: { status: undefined, end: "ECONNRESET" }, reachesServer: true },
    "cut in the answer": { heard: { status: 200, text: '{"items":', end: "ECONNRESET" }, reachesServer: true },
    "never answered": { heard: { status: undefined, end: "Open" }, reachesServer: false },
    "never finished": { heard: { status: 200, text: '{"items":', end: "Open" }, reachesServer: true },
    "delayed by 4 s": { heard: { status: undefined, end: "Open" }, reachesServer: false },
    "401": { heard: { status: 401, end: "Ended" }, reachesServer: false },
    "403": { heard: { status: 403, end: "Ended" }, reachesServer: false },
    "410": { heard: { status: 410, end: "Ended" }, reachesServer: false },
    "429, again in 2 s": { heard: { status: 429, end: "Ended" }, reachesServer: false },
    "500": { heard: { status: 500, end: "Ended" }, reachesServer: false },
    "504": { heard: { status: 504, end: "Ended" }, reachesServer: false },
    "a page of HTML": { heard: { status: 200, text: "<html>log in</html>\n", end: "Ended" }, reachesServer: false },
  };

  it.each(Object.entries(outcomes))(
    "%s → the client hears just that",
    async (name, { heard: expected, reachesServer }) => {
      const fault = requestFaults[name as keyof typeof requestFaults];
      const injected = proxy.inject({ match: { verb: "list" }, fault, times: 1 });
      const heard = ask(list);
      await until("it has bitten", () => injected.bites === 1);
      // The fault does not apply to a later watch. By then the first watch has received every event.
      expect(await answerTo(list)).toMatchObject({ status: 200, end: "Ended" });
      await until("what was to be heard", () =>
        Object.entries(expected).every(([key, value]) => heard[key as keyof Heard] === value),
      );
      expect(heard).toMatchObject(expected);
      expect(server.requests).toHaveLength(reachesServer ? 2 : 1);
      heard.leave();
      await until("no request is held", () => proxy.stats().held === 0);
    },
  );

  it("a delay → over after its time, and then answered", async () => {
    const injected = proxy.inject({ match: {}, fault: { kind: "Delay", delayMs: 30 } });
    const startedMs = performance.now();
    expect(await answerTo(list)).toMatchObject({ status: 200 });
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(29);
    expect(injected.bites).toBe(1);
  });

  it("held → answered when the fault is lifted, and not before", async () => {
    const injected = proxy.inject({ match: { verb: "list" }, fault: { kind: "Hold" }, times: 1 });
    const heard = ask(list);
    await until("it is held", () => proxy.stats().held === 1);
    expect(await answerTo(list)).toMatchObject({ status: 200 });
    expect(heard.end).toBe("Open");
    injected.lift();
    await until("it is answered", () => heard.status === 200 && heard.end === "Ended");
  });

  it("half-open → counted as held; quiet again → it stays so, others are served", async () => {
    proxy.inject({ match: { verb: "list" }, fault: requestFaults["never answered"] });
    const heard = ask(list);
    await until("it is held", () => proxy.stats().held === 1);
    proxy.quiet();
    expect(await answerTo(list)).toMatchObject({ status: 200 });
    expect(heard.end).toBe("Open");
    expect(proxy.stats().held).toBe(1);
  });

  it("another verb, another resource, a lifted rule, no times left → not hit", async () => {
    const { "500": fault } = requestFaults;
    proxy.inject({ match: { verb: "list", resource: "leases" }, fault });
    proxy.inject({ match: { verb: "patch" }, fault });
    proxy.inject({ match: {}, fault }).lift();
    proxy.inject({ match: {}, fault, times: 0 });
    expect(await answerTo(list)).toMatchObject({ status: 200 });
  });

  it("a server that cannot be reached → the connection ends", async () => {
    await server.stop();
    expect(await answerTo(list)).toMatchObject({ status: undefined, end: "ECONNRESET" });
    server = await startFakeApiServer();
  });
});

describe("faults of watches", () => {
  const a = event("ADDED", "a");
  const inserted = (fault: Fault) => (fault.kind === "Insert" ? fault.lines.map((line) => `${line}\n`).join("") : "");
  const cases = Object.entries(streamFaults as Readonly<Record<string, Fault>>).map(([name, fault]) => {
    const outcomes: Readonly<Record<string, Partial<Heard>>> = {
      Cut: { text: `${a}\n`, end: "ECONNRESET" },
      End: { text: `${a}\n`, end: "Ended" },
      GoSilent: { text: `${a}\n`, end: "Open" },
      Insert: { text: `${a}\n${inserted(fault)}${event("ADDED", "b")}\n`, end: "Open" },
      Replay: { text: `${a}\n${a}\n${event("ADDED", "b")}\n`, end: "Open" },
      Truncate: {
        text: `${a}\n${event("ADDED", "b").slice(0, 25)}`,
        end: "ending" in fault && fault.ending === "Cut" ? "ECONNRESET" : "Ended",
      },
    };
    return { name, fault, expected: outcomes[fault.kind] ?? {} };
  });

  it.each(cases)("an open watch: $name", async ({ fault, expected }) => {
    const heard = await openWatch();
    emit(a);
    await until("the first line", () => heard.text !== "");
    const injected = proxy.inject({ match: { verb: "watch" }, fault, times: 1 });
    emit(event("ADDED", "b"));
    await until("it has bitten", () => injected.bites === 1);
    await until("what was to be heard", () => heard.text === expected.text && heard.end === expected.end);
    // The fault does not apply to the next watch.
    heard.leave();
    await until("the watch is gone", () => proxy.stats().openStreams === 0);
    const next = await openWatch();
    emit(event("ADDED", "c"));
    await until("the next hears all", () => next.text === `${event("ADDED", "c")}\n`);
  });

  it("in force while a watch opens → hits it then; later, if it is to be later", async () => {
    proxy.inject({ match: { verb: "watch" }, fault: { ...bookmark("7"), afterMs: 30 }, times: 1 });
    const injected = proxy.inject({ match: { verb: "watch" }, fault: errorEvent({ code: 410, reason: "Expired" }) });
    const heard = await openWatch();
    await until("both have come", () => heard.text.split("\n").length === 3);
    expect(heard.text).toMatch(/^\{"type":"ERROR".*"code":410.*\n\{"type":"BOOKMARK".*"7".*\n$/);
    expect(injected.bites).toBe(1);
  });

  it("nothing arrives on a watch that is muted, and the next one receives everything", async () => {
    const heard = await openWatch();
    const injected = proxy.inject({ match: { verb: "watch" }, fault: streamFaults["half-open"], times: 1 });
    expect(injected.bites).toBe(1);
    const other = ask(watch);
    await until("the other is open too", () => proxy.stats().openStreams === 2);
    emit(a);
    await until("the other has heard it", () => other.text === `${a}\n`);
    expect(await answerTo(list)).toMatchObject({ status: 200 });
    expect(heard).toMatchObject({ text: "", end: "Open" });
  });

  it("a refusal that is aimed at watches → the watch does not open", async () => {
    proxy.inject({ match: { verb: "watch" }, fault: requestFaults["403"] });
    expect(await answerTo(watch)).toMatchObject({ status: 403, end: "Ended" });
    expect(await answerTo(list)).toMatchObject({ status: 200 });
  });
});
