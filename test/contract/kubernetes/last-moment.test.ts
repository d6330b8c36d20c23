/** Tests that the leader fence is asked right before a write to the API server is sent. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { LeaderFenceError } from "../../../src/domain/leader-fence.ts";
import { createConnection, type KubernetesConnection } from "../../../src/kubernetes/http/connection.ts";
import type { CredentialSource } from "../../../src/kubernetes/http/credentials.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { countingCredentials, type FakeApiServer, sendJson, startFakeApiServer } from "./fake-api-server.ts";

const patch = {
  what: "patch thing n/a",
  method: "PATCH",
  path: "/api/v1/things/a",
  body: { a: 1 },
  timeoutMs: 5_000,
} as const;

describe("a write and the leader fence", () => {
  let server: FakeApiServer;
  let source: CredentialSource;
  let connection: KubernetesConnection;

  beforeEach(async () => {
    server = await startFakeApiServer();
    server.answer((_request, response) => sendJson(response, 200, {}));
    source = countingCredentials(server.url);
    const credentials = { ...source, current: () => source.current() };
    connection = createConnection({ credentials, clock: systemClock, userAgent: "agent/1" });
  });

  afterEach(async () => {
    await connection.close();
    await server.stop();
  });

  it("the fence is open, on a new connection and on one that is kept → sent, for the time that is left", async () => {
    const askedMs: number[] = [];
    const fence = { mayStartEffect: (timeoutMs: number) => askedMs.push(timeoutMs) > 0 };
    await connection.request({ ...patch, fence });
    await connection.request({ ...patch, fence });
    expect(server.requests).toHaveLength(2);
    expect(askedMs).toHaveLength(2);
    for (const each of askedMs) expect(each).toBeLessThanOrEqual(5_000);
  });

  it("given up while the credentials were read → not one byte is sent, and the connection goes on", async () => {
    let mayStart = true;
    const { current } = source;
    source.current = async () => {
      mayStart = false;
      return current();
    };
    const fence = { mayStartEffect: () => mayStart };
    await expect(connection.request({ ...patch, fence })).rejects.toBeInstanceOf(LeaderFenceError);
    mayStart = true;
    await connection.request({ ...patch, fence });
    mayStart = false;
    await expect(connection.request({ ...patch, fence }), "kept").rejects.toBeInstanceOf(LeaderFenceError);
    expect(server.requests).toHaveLength(1);
  });

  it("credentials that never come → are asked for again, not waited for by every call for ever", async () => {
    const clock = new FakeClock();
    const patient = createConnection({
      credentials: { ...source, current: () => source.current() },
      clock,
      userAgent: "agent/1",
    });
    onTestFinished(() => patient.close());
    const { current } = source;
    source.current = () => new Promise(() => {});
    const first = expect(patient.request(patch)).rejects.toMatchObject({ reason: "TimedOut" });
    await clock.advance(30_000);
    await first;
    source.current = current;
    await patient.request(patch);
    expect(server.requests).toHaveLength(1);
  });
});
