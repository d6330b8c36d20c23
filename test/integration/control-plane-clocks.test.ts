/** Tests a control plane that consists of machines with different clocks. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorld } from "../support/world.ts";

/**
 * Starts a proxy before a control plane. The clock of the machine that gives every second answer is ahead, so the times
 * of changes go forth and back.
 */
async function startTwoMachines(aheadMs: number) {
  const proxy = { target: "", url: "" };
  let answers = 0;
  const server = createServer(async (request, response) => {
    const { method = "GET", url = "", headers } = request;
    const body = await text(request);
    const { authorization = "" } = headers;
    const sent = { authorization, "content-type": "application/json" };
    const answer = await fetch(new URL(url, proxy.target), { method, headers: sent, ...(body !== "" && { body }) });
    answers += 1;
    const shiftMs = answers % 2 === 0 ? aheadMs : 0;
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(
      (await answer.text()).replace(/(?<="updated_at":")[^"]+/g, (time) =>
        new Date(Date.parse(time) + shiftMs).toISOString(),
      ),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2`;
  return proxy;
}

test("two machines whose clocks differ by three seconds → Ready as soon as with right clocks, each operation counted once", async () => {
  const proxy = await startTwoMachines(3_000);
  const world = await startWorld({ environment: { CONTROL_PLANE_URL: proxy.url } });
  proxy.target = world.sandbox.url;
  const begunMs = performance.now();
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await world.untilReady("orders");
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite", compute: { minUnits: 1, maxUnits: 1 } });
  await world.untilReady("orders");
  expect(performance.now() - begunMs).toBeLessThan(10_000);
  const { operations } = await world.sandbox.api<{ operations: readonly object[] }>(
    ...(["GET", `/projects/${project}/operations`] as const),
  );
  await world.reconcile("orders");
  await waitUntil(
    async () => {
      const lines = (await world.metrics()).matchAll(/^compute_endpoint_operations_total\{.*\} (\d+)$/gm);
      return [...lines].reduce((sum, [, count]) => sum + Number(count), 0) === operations.length || undefined;
    },
    { what: `${operations.length} operations are counted` },
  );
});
