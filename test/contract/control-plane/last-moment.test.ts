/** Tests that the leader fence is asked right before a write to the control plane is sent. */
import { expect, test } from "vitest";
import { LeaderFenceError } from "../../../src/domain/leader-fence.ts";
import { everyCall } from "../../support/wire-objects.ts";
import { clientOf } from "./client-fixture.ts";
import { refusal, startRawService } from "./raw-service.ts";

const writes = everyCall.filter(([, kind]) => kind === "write");
const reads = everyCall.filter(([, kind]) => kind === "read");

test.each(writes)(
  "%s, the leader fence closed when the connection stands → nothing is sent",
  async (_name, _kind, call) => {
    await using service = await startRawService(refusal(503, "busy"));
    const askedMs: number[] = [];
    const mayStartEffect = (timeoutMs: number) => {
      askedMs.push(timeoutMs);
      return false;
    };
    await using client = clientOf(service.url, { fence: { mayStartEffect } });
    await expect(call(client)).rejects.toBeInstanceOf(LeaderFenceError);
    expect(service.requests).toEqual([]);
    expect(service.connections(), "asked no sooner").toBe(1);
    expect(askedMs).toHaveLength(1);
    expect(askedMs[0]).toBeLessThan(8_000);
  },
);

test.each(reads)("%s while the leader fence is closed → a read is sent all the same", async (_name, _kind, call) => {
  await using service = await startRawService(refusal(503, "busy"));
  await using client = clientOf(service.url, { fence: { mayStartEffect: () => false } });
  await expect(call(client)).rejects.toMatchObject({ reason: "Unavailable" });
  expect(service.requests).toMatchObject([{ method: "GET" }]);
});
