/** Tests the HTTP servers for probes and metrics. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { LogFields, Logger } from "../../../src/domain/logger.ts";
import type { ScrapeAccess } from "../../../src/domain/resource-store.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import type { Metrics } from "../../../src/telemetry/metrics.ts";
import {
  type HealthCheck,
  type HttpListener,
  startHealthServer,
  startMetricsServer,
} from "../../../src/telemetry/telemetry-servers.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { waitUntil } from "../../support/wait-until.ts";

const address = { host: "127.0.0.1", port: 0 };
const contentType = "text/plain; version=0.0.4; charset=utf-8";
const running: HttpListener[] = [];
const logged: LogFields[] = [];
const note = (fields: LogFields) => void logged.push(fields);
const logger: Logger = { debug: note, info: note, warn: note, error: note };

afterEach(async () => {
  await Promise.all(running.splice(0).map((listener) => listener.close()));
  logged.length = 0;
});

async function health(readyChecks: readonly HealthCheck[], liveChecks: readonly HealthCheck[] = []) {
  const listener = await startHealthServer({ address, readyChecks, liveChecks, clock: systemClock, logger });
  running.push(listener);
  return { listener, url: `http://127.0.0.1:${listener.port}` };
}

async function metrics(render: Metrics["render"], access?: ScrapeAccess) {
  const listener = await startMetricsServer({ address, metrics: { render }, access, clock: systemClock, logger });
  running.push(listener);
  return { listener, url: `http://127.0.0.1:${listener.port}` };
}

async function answerOf(url: string, method = "GET") {
  const response = await fetch(url, { method });
  return { status: response.status, body: await response.text(), headers: response.headers };
}

async function openSocket(port: number, text: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

describe("health server", () => {
  test("live and ready checks → /livez and /readyz answer by their own, whatever the query", async () => {
    const { url } = await health(
      [{ name: "cache-synced", problem: () => undefined }],
      [{ name: "watch", problem: () => "dead" }],
    );
    expect(await answerOf(`${url}/readyz?verbose`)).toMatchObject({ status: 200, body: "ok cache-synced\nok\n" });
    expect((await answerOf(`${url}/livez`)).status).toBe(503);
  });

  test.each([
    ["GET", "/", 404],
    ["GET", "/metrics", 404],
    ["GET", "/constructor", 404],
    ["HEAD", "/livez", 200],
  ])("%s %s → %i", async (method, path, status) => {
    const { url } = await health([]);
    const answer = await answerOf(`${url}${path}`, method);
    expect(answer.status).toBe(status);
  });

  test("the port is taken → an error that names setting and address", async () => {
    const { listener } = await health([]);
    const taken = { host: "127.0.0.1", port: listener.port };
    await expect(
      startHealthServer({ address: taken, liveChecks: [], readyChecks: [], clock: systemClock, logger }),
    ).rejects.toThrow(`cannot listen on HEALTH_ADDR 127.0.0.1:${listener.port}: EADDRINUSE`);
  });
});

describe("metrics server", () => {
  test("a scrape → the text and its content type", async () => {
    const { url } = await metrics(async () => "x 1\n");
    const answer = await answerOf(`${url}/metrics`);
    expect(answer).toMatchObject({ status: 200, body: "x 1\n" });
    expect(answer.headers.get("content-type")).toBe(contentType);
    expect((await answerOf(`${url}/livez`)).status).toBe(404);
  });

  test("three scrapes at the same time → one rendering; a later scrape → a new one", async () => {
    const gate = Promise.withResolvers<void>();
    let scrapes = 0;
    let renderings = 0;
    const render = async () => {
      renderings += 1;
      await gate.promise;
      return `x ${renderings}\n`;
    };
    const { url } = await metrics(render, async () => {
      scrapes += 1;
      return "Allowed";
    });
    const together = Array.from({ length: 3 }, () => answerOf(`${url}/metrics`));
    await waitUntil(() => scrapes === 3 || undefined, { what: "three scrapes" });
    gate.resolve();
    expect((await Promise.all(together)).map(({ body }) => body)).toEqual(["x 1\n", "x 1\n", "x 1\n"]);
    expect((await answerOf(`${url}/metrics`)).body).toBe("x 2\n");
  });

  test("a scrape that fails → 500 without the words, and a log line with them", async () => {
    const error = new Error("broken");
    const { url } = await metrics(() => Promise.reject(error));
    expect(await answerOf(`${url}/metrics`)).toMatchObject({ status: 500, body: "failed; the log says why\n" });
    expect(logged).toEqual([{ path: "/metrics", error }]);
  });
});

describe("metrics server and its readers", () => {
  const request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

  test("readers that do not read 20 MB → one copy of the answer; they are closed after the write deadline", async () => {
    const body = "x".repeat(20_000_000);
    const clock = new FakeClock();
    const gate = Promise.withResolvers<void>();
    let scrapes = 0;
    const listener = await startMetricsServer({
      address,
      clock,
      logger,
      metrics: { render: () => gate.promise.then(() => body) },
      access: async () => {
        scrapes += 1;
        return "Allowed";
      },
    });
    running.push(listener);
    const before = process.memoryUsage().arrayBuffers;
    const readers = await Promise.all(Array.from({ length: 20 }, () => openSocket(listener.port, request)));
    for (const reader of readers) {
      reader.pause();
    }
    await waitUntil(() => scrapes === readers.length || undefined, { what: "all scrapes have come" });
    gate.resolve();
    await waitUntil(() => (clock.pendingTimers >= readers.length ? true : undefined), {
      what: "all answers under way",
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(3 * body.length);
    await clock.advance(10_000);
    for (const reader of readers) {
      reader.resume();
    }
    await waitUntil(() => (readers.every(({ closed }) => closed) ? true : undefined), { what: "closed" });
    expect(readers.every((reader) => reader.bytesRead < body.length)).toBe(true);
  });

  test("33 connections → the last one is refused", async () => {
    const { listener } = await metrics(async () => "x 1\n");
    const held = await Promise.all(
      Array.from({ length: 32 }, () => openSocket(listener.port, "GET /metrics HTTP/1.1\r\n")),
    );
    const refused = await openSocket(listener.port, request);
    await waitUntil(() => (refused.closed ? true : undefined), { what: "refused" });
    expect([refused.bytesRead, held.filter(({ closed }) => closed).length]).toEqual([0, 0]);
    for (const socket of held) socket.destroy();
  });
});

describe("close", () => {
  test("idle keep-alive connections and half a request → closed", async () => {
    const { listener } = await health([]);
    const idle = await openSocket(listener.port, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(idle, "data");
    const half = await openSocket(listener.port, "GET /livez HTTP/1.1\r\nHost");
    // A connection with unread bytes ends with an error, an idle one without.
    const ended = Promise.allSettled([once(idle, "close"), once(half, "close")]);
    await listener.close();
    await ended;
    expect([idle.destroyed, half.destroyed]).toEqual([true, true]);
  });
});
