/** Tests that names which lead to this machine or link are refused. */
import type { lookup } from "node:dns";
import { expect, onTestFinished, test } from "vitest";
import { farLookup, HttpTransport } from "../../../src/http/transport.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { startRawService } from "./raw-service.ts";

/**
 * Looks up a name that has these addresses.
 * @returns two results: of a lookup for all addresses, and of a lookup for one
 */
async function lookedUp(...addresses: readonly string[]) {
  const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const resolve = ((_name: string, _options: object, callback: (error: null, all: typeof found) => void) =>
    callback(null, found)) as unknown as typeof lookup;
  const ask = (all: boolean) =>
    new Promise<unknown>((settle) => {
      farLookup(resolve)("name.example", { all }, (error, address) => settle(error ?? address));
    });
  return [await ask(true), await ask(false)];
}

test.each([
  ["127.0.0.1"],
  ["127.8.8.8"],
  ["0.0.0.0"],
  ["169.254.169.254"],
  ["::1"],
  ["::"],
  ["fe80::1%eth0"],
  ["::ffff:127.0.0.1"],
  ["::ffff:a9fe:a9fe"],
  ["64:ff9b::7f00:1"],
  ["100.100.100.200"],
])("a name that leads to %s alone → refused", async (address) => {
  const refused = { code: "ERR_NEARBY_ADDRESS" };
  expect(await lookedUp(address)).toMatchObject([refused, refused]);
});

test("a name with near and far addresses → only the far ones are used", async () => {
  const far = { address: "10.0.0.7", family: 4 };
  expect(await lookedUp("127.0.0.1", "10.0.0.7", "::1")).toEqual([[far], "10.0.0.7"]);
});

test.each([
  [true, "Answered"],
  [false, "NotSent"],
])("localhost, mayBeNearby %s → %s, by kept and by new connections", async (mayBeNearby, want) => {
  await using service = await startRawService();
  const { port } = new URL(service.url);
  const transport = new HttpTransport({
    origin: `http://localhost:${port}`,
    clock: systemClock,
    mayBeNearby,
    connectTimeoutMs: 2_000,
    maxResponseValues: 1_000,
    maxResponseBytes: 1_000,
    connections: 1,
  });
  onTestFinished(() => transport.close());
  const request = { method: "GET", path: "/v2", headers: {} } as const;
  const outcomes = [await transport.sendPooled(request, 2_000), await transport.sendFresh(request, 2_000)];
  expect(outcomes.map(({ kind }) => kind)).toEqual([want, want]);
  expect(service.requests.length).toBe(want === "Answered" ? 2 : 0);
});
