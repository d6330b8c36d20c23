/** Tests that the leader fence is asked right before a write to the control plane is sent. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { LeaderFenceError } from "../../../src/domain/leader-fence.ts";
import { everyCall } from "../../support/wire-objects.ts";
import { clientOf } from "./client-fixture.ts";

/** Starts a server that counts the requests that reach it. */
async function startService() {
  const methods: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    methods.push(request.method ?? "");
    response.writeHead(503).end();
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/api/v2`, methods, connections: () => connections };
}

const writes = everyCall.filter(([, kind]) => kind === "write");
const reads = everyCall.filter(([, kind]) => kind === "read");

test.each(writes)(
  "%s, the leader fence closed when the connection stands → nothing is sent",
  async (_name, _kind, call) => {
    const service = await startService();
    const askedMs: number[] = [];
    const mayStartEffect = (timeoutMs: number) => {
      askedMs.push(timeoutMs);
      return false;
    };
    await using client = clientOf(service.url, { fence: { mayStartEffect } });
    await expect(call(client)).rejects.toBeInstanceOf(LeaderFenceError);
    expect(service.methods).toEqual([]);
    expect(service.connections(), "asked no sooner").toBe(1);
    expect(askedMs).toHaveLength(1);
    expect(askedMs[0]).toBeLessThan(8_000);
  },
);

test.each(reads)("%s while the leader fence is closed → a read is sent all the same", async (_name, _kind, call) => {
  const service = await startService();
  await using client = clientOf(service.url, { fence: { mayStartEffect: () => false } });
  await expect(call(client)).rejects.toMatchObject({ reason: "Unavailable" });
  expect(service.methods).toEqual(["GET"]);
});
