/** Tests the connection to the API server: calls, errors, credentials, streams. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import {
  createConnection,
  type KubernetesCall,
  type KubernetesConnection,
} from "../../../src/kubernetes/http/connection.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { countingCredentials, type FakeApiServer, sendJson, startFakeApiServer } from "./fake-api-server.ts";

describe("a connection", () => {
  let server: FakeApiServer;
  let connection: KubernetesConnection;
  let credentials: ReturnType<typeof countingCredentials>;

  beforeEach(async () => {
    server = await startFakeApiServer();
    credentials = countingCredentials(server.url);
    connection = createConnection({ credentials, clock: systemClock, userAgent: "agent/1", maxBodyBytes: 10_000 });
  });

  afterEach(async () => {
    await connection.close();
    await server.stop();
  });

  const call = (changes: Partial<KubernetesCall> = {}): KubernetesCall => ({
    what: "read thing n/a",
    method: "GET",
    path: "/api/v1/things/a",
    timeoutMs: 5_000,
    ...changes,
  });

  async function failureOf(promise: Promise<unknown>): Promise<KubernetesError> {
    const error = await promise.then(
      () => undefined,
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(KubernetesError);
    return error as KubernetesError;
  }

  it("a call → method, path, query, headers and body as asked; the parsed answer", async () => {
    server.answer((_request, response) => sendJson(response, 200, { text: "é😀" }));
    const contentType = "application/merge-patch+json";
    const answer = await connection.request(
      call({ method: "PATCH", query: { fieldManager: "me" }, contentType, body: { a: 1 } }),
    );
    expect(answer).toEqual({ text: "é😀" });
    expect(server.requests[0]).toMatchObject({
      method: "PATCH",
      path: "/api/v1/things/a",
      query: { fieldManager: "me" },
      headers: {
        "content-type": contentType,
        authorization: "Bearer token-1",
        "user-agent": "agent/1",
        accept: "application/json",
      },
      body: { a: 1 },
    });
  });

  it("a server with a path of its own → is kept before the call's", async () => {
    server.answer((_request, response) => sendJson(response, 200, {}));
    const behind = { ...credentials, server: `${server.url}/k8s/clusters/c1` };
    const behindProxy = createConnection({ credentials: behind, clock: systemClock, userAgent: "agent/1" });
    await behindProxy.request(call());
    expect(server.requests[0]?.path).toBe("/k8s/clusters/c1/api/v1/things/a");
    await behindProxy.close();
  });

  const refusals = [
    [403, 'secrets "a" is forbidden: User "system:operator" cannot patch resource "secrets"', "Forbidden"],
    [403, 'secrets is forbidden: User "system:operator" cannot create resource "secrets"', "Forbidden"],
    [403, 'secrets "a" is forbidden: exceeded quota: team, requested: secrets=1', "WriteRefused"],
    [403, 'admission webhook "w" denied the request: User "x" cannot do this', "WriteRefused"],
    [422, 'Secret "a" is invalid: data: Forbidden: field is immutable', "WriteRefused"],
    [413, "Request entity too large: limit is 3145728", "WriteRefused"],
  ] as const;
  it.each(refusals)("a write is answered %i %s → %s, with that text", async (code, message, reason) => {
    server.answer((_request, response) => sendJson(response, code, { kind: "Status", message }));
    const error = await failureOf(connection.request({ ...call(), method: "PATCH", body: {} }));
    expect(error.reason).toBe(reason);
    expect(error.message).toContain(message);
  });

  const statuses = [
    [400, {}, "Invalid"],
    [403, { message: "things is forbidden" }, "Forbidden"],
    [404, {}, "NotFound"],
    [409, {}, "Conflict"],
    [410, {}, "Expired"],
    [422, {}, "Invalid"],
    [422, { details: { causes: [{ field: "metadata.uid" }] } }, "Conflict"],
    [429, {}, "Throttled"],
    [500, {}, "Unavailable"],
    [500, { reason: "Expired" }, "Expired"],
    [503, {}, "Unavailable"],
    [504, {}, "TimedOut"],
    [302, {}, "UnreadableAnswer"],
  ] as const;
  for (const [code, status, reason] of statuses) {
    it(`${code} ${JSON.stringify(status)} → ${reason}`, async () => {
      server.answer((_request, response) =>
        sendJson(response, code, { kind: "Status", ...status }, { "x-secret": "h1dden" }),
      );
      const error = await failureOf(connection.request(call()));
      expect(error.reason).toBe(reason);
      expect(error.message).toMatch(/^cannot read thing n\/a: [^\n]+$/);
      expect(error.message).not.toContain("h1dden");
    });
  }

  it.each(["<html>Not Found</html>", "404 page not found", "{}"])(
    "404 with %s → not the API server's word, so no object counts as absent",
    async (page) => {
      server.answer((_request, response) => response.writeHead(404).end(page));
      expect((await failureOf(connection.request(call()))).reason).toBe("NotServed");
    },
  );

  it("a refusal of many lines → one line, bounded; the wait the server asks for in milliseconds", async () => {
    const message = `spec.a: bad\n\tspec.b: ${"x".repeat(5_000)}`;
    server.answer((_request, response) => sendJson(response, 422, { message, details: { retryAfterSeconds: 7 } }));
    const error = await failureOf(connection.request(call()));
    expect(error.message).toContain("spec.a: bad spec.b:");
    expect(error.message.length).toBeLessThan(600);
    expect(error.retryAfterMs).toBe(7_000);
    server.answer((_request, response) => sendJson(response, 429, {}, { "retry-after": "3" }));
    expect((await failureOf(connection.request(call()))).retryAfterMs).toBe(3_000);
  });

  it("an error page in place of a Status → the reason by its code, nothing of the page", async () => {
    server.answer((_request, response) =>
      response.writeHead(502, { "content-type": "text/html" }).end("<h1>secret</h1>"),
    );
    const error = await failureOf(connection.request(call()));
    expect(error).toMatchObject({
      reason: "Unavailable",
      message: "cannot read thing n/a: the API server answered 502",
    });
  });

  it("success with no JSON, half of it, or too much of it → UnreadableAnswer", async () => {
    for (const body of ["<html>", '{"a":', "", `"${"x".repeat(20_000)}"`]) {
      server.answer((_request, response) => response.writeHead(200).end(body));
      const error = await failureOf(connection.request(call()));
      expect(error.reason).toBe("UnreadableAnswer");
      expect(error.message).not.toContain("xxx");
    }
  });

  it("no answer, or half an answer → TimedOut in time", async () => {
    server.answer(() => {});
    expect((await failureOf(connection.request(call({ timeoutMs: 50 })))).reason).toBe("TimedOut");
    server.answer((_request, response) => response.writeHead(200).write('{"a":'));
    expect((await failureOf(connection.request(call({ timeoutMs: 50 })))).reason).toBe("TimedOut");
  });

  it("no server listens, or the connection is cut → Unavailable, and nothing is sent twice", async () => {
    server.answer((_request, response) => response.destroy());
    const cut = await failureOf(connection.request(call({ method: "PATCH", body: {} })));
    expect(cut.reason).toBe("Unavailable");
    expect(server.requests).toHaveLength(1);
    await server.stop();
    const refused = await failureOf(connection.request(call()));
    expect(refused).toMatchObject({
      reason: "Unavailable",
      message: "cannot read thing n/a: the API server cannot be reached (ECONNREFUSED)",
    });
    server = await startFakeApiServer();
  });

  it("401 for many calls at once → credentials are read again once, and the next call uses them", async () => {
    server.answer((request, response) =>
      request.headers.authorization === "Bearer token-2" ? sendJson(response, 200, {}) : sendJson(response, 401, {}),
    );
    await Promise.all(Array.from({ length: 10 }, () => failureOf(connection.request(call()))));
    expect(await connection.request(call({ method: "PATCH", body: {} }))).toEqual({});
    expect(credentials.reloads()).toBe(1);
    expect(server.requests).toHaveLength(11);
  });

  describe("as time goes by", () => {
    const clock = new FakeClock();
    const ports = () => server.requests.map(({ connection }) => connection);

    it("a stream that is open → outlives the time it had to open", async () => {
      const gate = Promise.withResolvers<void>();
      server.answer((_request, response) => {
        response.writeHead(200).flushHeaders();
        void gate.promise.then(() => response.end("late\n"));
      });
      const own = createConnection({ credentials, clock, userAgent: "agent/1" });
      onTestFinished(() => own.close());
      const stream = await own.openStream(call({ timeoutMs: 5_000 }));
      await clock.advance(3_600_000);
      gate.resolve();
      let text = "";
      for await (const chunk of stream) text += Buffer.from(chunk).toString();
      expect(text).toBe("late\n");
    });

    it("another token → the same sockets; another certificate → new ones, and the call under way ends in peace", async () => {
      const gate = Promise.withResolvers<void>();
      server.answer(({ path }, response) => {
        void (path === "/slow" ? gate.promise : Promise.resolve()).then(() => sendJson(response, 200, { path }));
      });
      let now = await credentials.current();
      const source = { ...credentials, current: async () => now };
      const own = createConnection({ credentials: source, clock, userAgent: "agent/1" });
      onTestFinished(() => own.close());
      const use = async (changes: Partial<typeof now>) => {
        now = { ...now, ...changes };
        await clock.advance(10_000);
        await own.request(call({ timeoutMs: 60_000 }));
      };
      await use({});
      await use({ headers: { authorization: "Bearer another" } });
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer token-1", "Bearer another"]);
      expect(new Set(ports()).size).toBe(1);
      const slow = own.request(call({ path: "/slow", timeoutMs: 60_000 }));
      await waitUntil(() => server.requests.length === 3 || undefined, { what: "the slow call has arrived" });
      await use({ transport: { tls: { servername: "another" }, proxyUrl: undefined } });
      expect(ports()[3]).not.toBe(ports()[0]);
      gate.resolve();
      expect(await slow).toEqual({ path: "/slow" });
    });
  });

  it("credentials that cannot be read → Unauthorized, without the plugin's output", async () => {
    const broken = createConnection({
      credentials: { ...credentials, current: () => Promise.reject(new Error("plugin printed s3cret")) },
      clock: systemClock,
      userAgent: "agent/1",
    });
    const error = await failureOf(broken.request(call()));
    expect(error.reason).toBe("Unauthorized");
    expect(error.message).not.toContain("s3cret");
    await broken.close();
  });

  it("closed → calls under way end, and new ones fail", async () => {
    server.answer(() => {});
    const pending = failureOf(connection.request(call()));
    await expect.poll(() => server.requests.length).toBe(1);
    await connection.close();
    expect((await pending).reason).toBe("Unavailable");
    expect((await failureOf(connection.request(call()))).reason).toBe("Unavailable");
  });
});
